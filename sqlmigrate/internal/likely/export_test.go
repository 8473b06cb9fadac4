package likely

import (
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Meaning returns "named", "weak", "role", "elsewhere" or "", as TestNames explains, for
// the name of a column of table. It also returns the first key to which the column may
// refer.
func Meaning(survey *engine.Survey, keys []Key, table plan.TableName, column string) (string, string) {
	tables := newTableIndex(survey.Tables, keys)
	tables.findOwners(survey)
	m, found := tables.meaningOf(table, parseName(column))
	first := ""
	if len(found) > 0 {
		first = found[0].String()
	}
	return []string{"", "elsewhere", "role", "weak", "named"}[m], first
}

// Joins returns the pairs of columns that a definition compares, as text.
func Joins(text string, tables ...string) []string {
	known := map[string][]plan.TableName{}
	for _, t := range tables {
		known[t] = []plan.TableName{{Name: t}}
	}
	var pairs []string
	for _, p := range joins(text, known) {
		pairs = append(pairs, p[0].String()+"="+p[1].String())
	}
	return pairs
}

// Mentions reports whether a comment names the key.
func Mentions(comment string, key Key) bool { return mentions(comment, key) }

// Probes exposes probes, which returns n random numbers between the smallest and the
// largest of the values. The caller passes at least MinValues values.
func Probes(n int, values ...int64) []int64 { return sampleValues(values).probes(n) }

// MinValues is the smallest number of values of a sample.
const MinValues = minValues
