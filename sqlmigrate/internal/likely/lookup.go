package likely

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// sample reads values of the columns of a table. If it cannot read the table, because a
// right is missing or the table is locked, the columns have no values, and only their
// names count.
func (f *finder) sample(ctx context.Context, table plan.TableName, suspects []*suspect) {
	columns := make([]engine.NarrowColumn, len(suspects))
	for i, s := range suspects {
		columns[i] = s.column
	}
	rows, err := f.in.Engine.Sample(ctx, f.in.Conn, table, columns)
	if err != nil {
		return
	}
	for i, s := range suspects {
		for _, row := range rows {
			s.values = append(s.values, valuesIn(row[i].String)...)
		}
		s.values = distinctValues(s.values)
		s.dense = s.column.Alone && s.values.dense()
		s.values = s.values.thinned(maxValues)
	}
}

// A lookup is the result of looking up values in a key: the values that exist as a key,
// and the range of the key. It also looks up probes, which are random numbers in the
// range of the values. If they are keys too, the keys have few gaps, and values that are
// all keys are weak evidence.
type lookup struct {
	key               Key
	unknown           bool // whether the key cannot be read
	smallest, largest int64
	values            map[int64]bool
}

const (
	firstProbes  = 16 // number of values and probes of each column in the first look-up
	secondProbes = 50 // number of probes in the second look-up, which reads all values if all values of the first are keys
)

// lookUp finds which values of the columns exist as the key. The first look-up reads few
// values of each column, and decides for which columns more values are worth the time.
// Both use the index of the key.
func (f *finder) lookUp(ctx context.Context, key Key, undecided []*suspect) *lookup {
	p := &lookup{key: key, values: map[int64]bool{}}
	query := fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %[2]s", f.quote(key.Column), f.in.Engine.Quote(key.Table))
	var smallest, largest sql.NullInt64
	if err := f.in.Conn.QueryRowContext(ctx, query).Scan(&smallest, &largest); err != nil || !largest.Valid { // NULL if the table is empty
		p.unknown = err != nil
		return p
	}
	p.smallest, p.largest = smallest.Int64, largest.Int64
	var first, then sampleValues
	for _, s := range undecided {
		first = slices.Concat(first, s.values.thinned(firstProbes), s.values.probes(firstProbes))
	}
	f.readExisting(ctx, p, first)
	// More values are read if all first values are keys, unless the name says nothing and
	// these values are like those of a counter, whose probes are keys too.
	for _, s := range undecided {
		if p.has(s.values.thinned(firstProbes)) && (s.meaning != noMeaning || p.reaches(s.values) || !p.has(s.values.probes(firstProbes))) {
			then = slices.Concat(then, s.values, s.values.probes(secondProbes))
		}
	}
	f.readExisting(ctx, p, then)
	return p
}

// quote quotes the name of a column.
func (f *finder) quote(column string) string {
	return f.in.Engine.Quote(plan.TableName{Name: column})
}

// readExisting reads which of the wanted values exist as the key of p, 1,000 in a query.
// It leaves out values that are outside of the range of the key, or known to exist.
func (f *finder) readExisting(ctx context.Context, p *lookup, wanted sampleValues) {
	slices.Sort(wanted)
	wanted = slices.DeleteFunc(slices.Compact(wanted), func(value int64) bool { return value < p.smallest || value > p.largest || p.values[value] })
	for chunk := range slices.Chunk(wanted, 1000) {
		// fmt prints [1 2 3], which becomes 1,2,3.
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
func (p *lookup) count(values sampleValues) int {
	n := 0
	for _, value := range values {
		if p.values[value] {
			n++
		}
	}
	return n
}

// has reports whether all values exist as the key.
func (p *lookup) has(values sampleValues) bool { return p.count(values) == len(values) }

// fits reports whether the values alone are evidence for a reference. All values must be
// keys. For the values of a counter that is not sufficient, because small keys have no
// gaps, so they are keys by chance. Therefore either the values must leave out the gaps
// between keys, see leavesOut, or they must reach across the range of the keys and not be
// dense like those of a counter.
func (p *lookup) fits(s *suspect) bool {
	return !s.dense && p.has(s.values) && p.reaches(s.values) || p.leavesOut(s.values)
}

// leavesOut reports whether all values are keys, and so few of the numbers between them
// are keys that this cannot be chance. Each value is evidence of -log2(density) bits, if
// density is the part of the numbers that are keys. The density counts as at least 1 %,
// because the probes measure it roughly.
func (p *lookup) leavesOut(values sampleValues) bool {
	if len(values) < minValues || !p.has(values) {
		return false
	}
	probes := values.probes(secondProbes)
	density := float64(p.count(probes)) / float64(len(probes))
	return -float64(len(values))*math.Log2(max(density, 0.01)) >= enoughBits
}

// enoughBits is the evidence in bits that corresponds to a chance of one in a thousand.
const enoughBits = 10

// reaches reports whether the values reach across the range of the key: over at least
// half of it, and with their median above its lowest fifth. It returns false for fewer
// than 2*minValues values.
func (p *lookup) reaches(values sampleValues) bool {
	if len(values) < 2*minValues {
		return false
	}
	span := float64(p.largest - p.smallest)
	return float64(values[len(values)-1]-values[0]) >= span/2 && float64(values[len(values)/2]-p.smallest) >= span/5
}
