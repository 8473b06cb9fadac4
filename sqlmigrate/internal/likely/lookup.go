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

// sample reads values of the suspects, which are columns of the same table. If it cannot
// read the table, because a right is missing or the table is locked, the suspects have no
// values, and only their names count.
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
		s.dense = s.column.Alone && s.values.dense() // a primary key that looks like a counter's
		s.values = s.values.thinned(maxValues)
	}
}

// A lookup shows which values of columns exist as a key, for example as users.id. It has
// the range of the key, and the numbers that exist as the key.
//
// Besides the values, a lookup has probes, which are random numbers between the smallest
// and the largest value of a column. They show how many of all these numbers exist as the
// key. If most probes exist, the key has few gaps. Then any number is likely to exist, and
// it means little that all values of the column do.
type lookup struct {
	key               Key
	unknown           bool // whether the key cannot be read
	smallest, largest int64
	existing          map[int64]bool // the values and probes that exist as the key
}

const (
	firstProbes  = 16 // number of values and probes of each column in the first look-up
	secondProbes = 50 // number of probes in the second look-up, which reads all values of a sample
)

// lookUp finds which values of the columns exist as the key. It first looks up few values
// of each column. If these exist, it then looks up all values of the column's sample. The
// queries use the index of the key.
func (f *finder) lookUp(ctx context.Context, key Key, undecided []*suspect) *lookup {
	p := &lookup{key: key, existing: map[int64]bool{}}
	query := fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %[2]s", f.quote(key.Column), f.in.Engine.Quote(key.Table))
	var smallest, largest sql.NullInt64
	if err := f.in.Conn.QueryRowContext(ctx, query).Scan(&smallest, &largest); err != nil || !largest.Valid { // NULL if the table is empty
		p.unknown = err != nil
		return p
	}
	p.smallest, p.largest = smallest.Int64, largest.Int64
	var first, second sampleValues
	for _, s := range undecided {
		first = slices.Concat(first, s.values.thinned(firstProbes), s.values.probes(firstProbes))
	}
	f.readExisting(ctx, p, first)
	// Look up all values of a column only if its first values exist. If its name has no
	// meaning, the column must also have a chance to pass isEvidence, because its values
	// span the range of the key, or because a probe does not exist.
	for _, s := range undecided {
		if p.hasAll(s.values.thinned(firstProbes)) && (s.meaning != noMeaning || p.isSpanned(s.values) || !p.hasAll(s.values.probes(firstProbes))) {
			second = slices.Concat(second, s.values, s.values.probes(secondProbes))
		}
	}
	f.readExisting(ctx, p, second)
	return p
}

// quote returns the name of a column in the quotation marks of the database.
func (f *finder) quote(column string) string {
	return f.in.Engine.Quote(plan.TableName{Name: column})
}

// readExisting reads which of the wanted values exist as the key of p, up to 1,000 in a
// query, and adds them to p.existing. It leaves out values that are outside of the range of
// the key, or known to exist.
func (f *finder) readExisting(ctx context.Context, p *lookup, wanted sampleValues) {
	slices.Sort(wanted)
	wanted = slices.DeleteFunc(slices.Compact(wanted), func(value int64) bool { return value < p.smallest || value > p.largest || p.existing[value] })
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
			p.existing[value] = true
		}
	}
}

// count returns the number of values that exist as the key.
func (p *lookup) count(values sampleValues) int {
	n := 0
	for _, value := range values {
		if p.existing[value] {
			n++
		}
	}
	return n
}

// hasAll reports whether all values exist as the key.
func (p *lookup) hasAll(values sampleValues) bool { return p.count(values) == len(values) }

// isEvidence reports whether the values of a column show by themselves that it refers to
// the key. All values must exist as the key. For small numbers, such as those of another
// counter, that is not sufficient, because small keys have few gaps, so every small number
// is a key by chance. Therefore the values must also avoid gaps between the keys, or span
// the range of the key without being dense as those of a counter are.
func (p *lookup) isEvidence(s *suspect) bool {
	return !s.dense && p.hasAll(s.values) && p.isSpanned(s.values) || p.avoidsGaps(s.values)
}

// avoidsGaps reports whether all values exist as the key, and so few of the numbers
// between them exist that this cannot be chance. The probes measure which part of these
// numbers exists, the density. For example, with a density of 1/2, a random number exists
// with a chance of one half, which is evidence of one bit for each value, and ten values
// are enough. The density counts as at least 1 %, because the probes measure it roughly.
func (p *lookup) avoidsGaps(values sampleValues) bool {
	if len(values) < minValues || !p.hasAll(values) {
		return false
	}
	probes := values.probes(secondProbes)
	density := float64(p.count(probes)) / float64(len(probes))
	return -float64(len(values))*math.Log2(max(density, 0.01)) >= enoughBits
}

// enoughBits is the evidence in bits that corresponds to a chance of about one in a
// thousand (1/1024).
const enoughBits = 10

// isSpanned reports whether the values, which are sorted, span the range of the key, as
// the values of a reference do. They must extend over at least half of the range, with
// their median above its lowest fifth. isSpanned returns false for fewer than 2*minValues
// values.
func (p *lookup) isSpanned(values sampleValues) bool {
	if len(values) < 2*minValues {
		return false
	}
	span := float64(p.largest - p.smallest)
	return float64(values[len(values)-1]-values[0]) >= span/2 && float64(values[len(values)/2]-p.smallest) >= span/5
}
