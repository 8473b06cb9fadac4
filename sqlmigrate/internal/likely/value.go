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
	// maxValues are compared with keys: so many that a key that is missing here and
	// there shows.
	maxValues = 200

	// fewest values say something of a column whose name says nothing.
	fewest = 5

	// disproof is how many values, none of which is a key, show that a name
	// means something else.
	disproof = 10
)

// samples are distinct values of a column, in order.
type samples []int64

var integers = regexp.MustCompile(`-?\d+`)

// sample reads values of the columns of a table. That it may not read the table, or
// that somebody locks it, leaves only the names.
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

// valuesIn reads one number, or the numbers of an array.
func valuesIn(text string) (values samples) {
	for _, digits := range integers.FindAllString(text, -1) {
		if value, err := strconv.ParseInt(digits, 10, 64); err == nil {
			values = append(values, value)
		}
	}
	return values
}

// distinct are the values without repetition, from the smallest to the largest.
// 0 and -1 stand for none where there is no NULL.
func distinct(values samples) samples {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value int64) bool { return value == 0 || value == -1 })
}

// dense reports whether half of the values are next to the one before.
func (values samples) dense() bool {
	next := 0
	for i := 1; i < len(values); i++ {
		if values[i] == values[i-1]+1 {
			next++
		}
	}
	return 2*next >= len(values)
}

// thinned are at most so many of the values, evenly.
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

// probes are numbers between the values, the same each time: how many of them are
// keys shows how much it means that all values are.
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

// A present says which values a key has, of those that were looked up.
type present struct {
	key               Key
	unknown           bool // it may not be read
	smallest, largest int64
	values            map[int64]bool
}

const (
	few  = 16 // values and probes are looked up first,
	many = 50 // and so many probes, and all values, if they are all keys
)

// lookUp asks the key's index.
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

// count counts the values that are keys.
func (p *present) count(values samples) int {
	n := 0
	for _, value := range values {
		if p.values[value] {
			n++
		}
	}
	return n
}

// has reports whether all values are keys.
func (p *present) has(values samples) bool { return p.count(values) == len(values) }

// fits reports whether the values are those of a reference, although nothing else
// says so. All have to be keys. That says little of a count, because small keys
// have no gaps: so there have to be gaps between the values, or the values have to
// reach as far as the keys do, as those of a primary key do that counts.
func (p *present) fits(s *suspect) bool {
	return !s.dense && p.has(s.values) && p.reaches(s.values) || p.leavesOut(s.values)
}

// leavesOut reports whether the values are keys, and too few numbers between them are
// for that to be chance.
func (p *present) leavesOut(values samples) bool {
	if len(values) < fewest || !p.has(values) {
		return false
	}
	probes := values.probes(many)
	density := float64(p.count(probes)) / float64(len(probes))
	return -float64(len(values))*math.Log2(max(density, 0.01)) >= enoughBits
}

// enoughBits of evidence are a chance of one in a thousand.
const enoughBits = 10

func (p *present) reaches(values samples) bool {
	if len(values) < 2*fewest {
		return false
	}
	span := float64(p.largest - p.smallest)
	return float64(values[len(values)-1]-values[0]) >= span/2 && float64(values[len(values)/2]-p.smallest) >= span/5
}
