package likely

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const (
	// maxValues is the number of values that are compared with keys. It is large enough
	// to find a value that is not a key if some are not.
	maxValues = 200

	// fewest is the smallest number of values that is evidence for a column whose name
	// has no meaning.
	fewest = 5

	// disproof is the number of values that are evidence against the name of a column if
	// none of them is a key.
	disproof = 10
)

// samples are distinct values of a column, sorted.
type samples []int64

var integers = regexp.MustCompile(`-?\d+`)

// sample reads values of the columns of a table. If it cannot read the table, because a
// right is missing or the table is locked, the columns have no values, and only their
// names count.
func (f *finder) sample(ctx context.Context, table plan.TableName, asked []*suspect) {
	columns := make([]engine.NarrowColumn, len(asked))
	for i, s := range asked {
		columns[i] = s.column
	}
	rows, err := f.in.Engine.Sample(ctx, f.in.Conn, table, columns)
	if err != nil {
		return
	}
	for i, s := range asked {
		for _, row := range rows {
			s.values = append(s.values, valuesIn(row[i].String)...)
		}
		s.values = distinct(s.values)
		s.dense = s.column.Alone && s.values.dense()
		s.values = s.values.thinned(maxValues)
	}
}

// valuesIn returns the number in a text, or the numbers of an array.
func valuesIn(text string) (values samples) {
	for _, digits := range integers.FindAllString(text, -1) {
		if value, err := strconv.ParseInt(digits, 10, 64); err == nil {
			values = append(values, value)
		}
	}
	return values
}

// distinct returns the values sorted and without duplicates. It removes 0 and -1, which
// columns without NULL use for no value.
func distinct(values samples) samples {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value int64) bool { return value == 0 || value == -1 })
}

// dense reports whether at least half of the values are the successor of another value.
func (values samples) dense() bool {
	next := 0
	for i := 1; i < len(values); i++ {
		if values[i] == values[i-1]+1 {
			next++
		}
	}
	return 2*next >= len(values)
}

// thinned returns at most so many values, which are evenly distributed.
func (values samples) thinned(most int) samples {
	if len(values) <= most {
		return values
	}
	kept := make(samples, most)
	for i := range kept {
		kept[i] = values[i*(len(values)-1)/(most-1)]
	}
	return kept
}

// probes returns random numbers in the range of the values, the same in every run. If
// most probes are keys, it has little weight that all values are keys.
func (values samples) probes(most int) samples {
	if len(values) < fewest {
		return nil
	}
	from, to := values[0], values[len(values)-1]
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make(samples, most)
	for i := range numbers {
		numbers[i] = from + random.Int64N(to-from+1)
	}
	return numbers
}

// A present holds the values that exist as a key, of the values that were looked up.
type present struct {
	key               Key
	unknown           bool // whether the key cannot be read
	smallest, largest int64
	values            map[int64]bool
}

const (
	few  = 16 // number of values and probes of each column in the first look-up
	many = 50 // number of probes in the second look-up, which reads all values if all values of the first are keys
)

// lookUp finds which values of the columns exist as the key. It uses the index of the
// key.
func (f *finder) lookUp(ctx context.Context, key Key, asked []*suspect) *present {
	p := &present{key: key, values: map[int64]bool{}}
	query := fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %[2]s", f.quote(key.Column), f.in.Engine.Quote(key.Table))
	var smallest, largest sql.NullInt64
	if err := f.in.Conn.QueryRowContext(ctx, query).Scan(&smallest, &largest); err != nil || !largest.Valid {
		p.unknown = err != nil
		return p
	}
	p.smallest, p.largest = smallest.Int64, largest.Int64
	var first, then samples
	for _, s := range asked {
		first = slices.Concat(first, s.values.thinned(few), s.values.probes(few))
	}
	f.readPresent(ctx, p, first)
	for _, s := range asked {
		if p.has(s.values.thinned(few)) && (s.meaning != nothing || p.reaches(s.values) || !p.has(s.values.probes(few))) {
			then = slices.Concat(then, s.values, s.values.probes(many))
		}
	}
	f.readPresent(ctx, p, then)
	return p
}

func (f *finder) quote(column string) string {
	return f.in.Engine.Quote(plan.TableName{Name: column})
}

func (f *finder) readPresent(ctx context.Context, p *present, wanted samples) {
	slices.Sort(wanted)
	wanted = slices.DeleteFunc(slices.Compact(wanted), func(value int64) bool { return value < p.smallest || value > p.largest || p.values[value] })
	for chunk := range slices.Chunk(wanted, 1000) {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(chunk), "[]"), " ", ",")
		query := fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[1]s IN (%[3]s)", f.quote(p.key.Column), f.in.Engine.Quote(p.key.Table), list)
		found, err := rows.Read[int64](ctx, f.in.Conn, query)
		if err != nil {
			p.unknown = true
			return
		}
		for _, value := range found {
			p.values[value] = true
		}
	}
}

// count returns the number of values that exist as the key.
func (p *present) count(values samples) int {
	n := 0
	for _, value := range values {
		if p.values[value] {
			n++
		}
	}
	return n
}

// has reports whether all values exist as the key.
func (p *present) has(values samples) bool { return p.count(values) == len(values) }

// fits reports whether the values alone are evidence for a reference. All values must be
// keys. For a counter that is not sufficient, because small keys have no gaps. Therefore
// either the values must leave out existing gaps, see leavesOut, or they must reach
// across the range of the keys and not look like a counter's.
func (p *present) fits(s *suspect) bool {
	return !s.dense && p.has(s.values) && p.reaches(s.values) || p.leavesOut(s.values)
}

// leavesOut reports whether all values are keys, and so few of the numbers between them
// are keys that this cannot be chance.
func (p *present) leavesOut(values samples) bool {
	if len(values) < fewest || !p.has(values) {
		return false
	}
	probes := values.probes(many)
	density := float64(p.count(probes)) / float64(len(probes))
	return -float64(len(values))*math.Log2(max(density, 0.01)) >= enoughBits
}

// enoughBits is the evidence in bits that corresponds to a chance of one in a thousand.
const enoughBits = 10

func (p *present) reaches(values samples) bool {
	if len(values) < 2*fewest {
		return false
	}
	span := float64(p.largest - p.smallest)
	return float64(values[len(values)-1]-values[0]) >= span/2 && float64(values[len(values)/2]-p.smallest) >= span/5
}
