package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// A TableName is the name of a table, or of another relation. Schema is empty where the
// database has none, or it is the current one.
type TableName struct{ Schema, Name string }

const (
	tableForm  = `want table or schema.table, with double quotes around a name that has a dot`
	columnForm = `want table.column or schema.table.column, with double quotes around a name that has a dot`
)

// ParseTable reads table or schema.table.
func ParseTable(s string) (TableName, error) {
	parts := splitName(s)
	if len(parts) == 0 || len(parts) > 2 {
		return TableName{}, fmt.Errorf("%q is not the name of a table: %s", s, tableForm)
	}
	return TableOf(parts), nil
}

// ParseColumn reads table.column or schema.table.column.
func ParseColumn(s string) (TableName, string, error) {
	parts := splitName(s)
	if len(parts) < 2 || len(parts) > 3 {
		return TableName{}, "", fmt.Errorf("%q is not the name of a column: %s", s, columnForm)
	}
	last := len(parts) - 1
	return TableOf(parts[:last]), parts[last], nil
}

// TableOf is the name that consists of a table, or of a schema and a table.
func TableOf(parts []string) TableName {
	if len(parts) == 1 {
		return TableName{Name: parts[0]}
	}
	return TableName{parts[0], parts[1]}
}

// namePart is a part of a name with the dot behind it, between double quotes or not.
var namePart = regexp.MustCompile(`^(?:"((?:[^"]|"")+)"|([^".][^.]*))(\.|$)`)

// splitName splits at dots that are not between double quotes, and returns nil where
// that cannot be done. Names are used as they are written, whatever case the database
// folds them to elsewhere.
func splitName(s string) []string {
	var parts []string
	for {
		m := namePart.FindStringSubmatch(s)
		if m == nil {
			return nil
		}
		parts = append(parts, strings.ReplaceAll(m[1], `""`, `"`)+m[2])
		if m[3] == "" {
			return parts
		}
		s = s[len(m[0]):]
	}
}

// String writes the name so that ParseTable reads it.
func (t TableName) String() string {
	if t.Schema == "" {
		return QuoteDotted(t.Name)
	}
	return QuoteDotted(t.Schema) + "." + QuoteDotted(t.Name)
}

// Compare orders names by their text.
func (t TableName) Compare(other TableName) int { return strings.Compare(t.String(), other.String()) }

// MarshalText writes the name as [TableName.String] does.
func (t TableName) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name as [ParseTable] does. An empty text is no name.
func (t *TableName) UnmarshalText(text []byte) (err error) {
	*t = TableName{}
	if len(text) > 0 {
		*t, err = ParseTable(string(text))
	}
	return err
}

// QuoteDotted quotes a name that [ParseTable] would split.
func QuoteDotted(name string) string {
	if !strings.Contains(name, ".") && !strings.HasPrefix(name, `"`) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Quoted is the name, with its schema if it has one, between marks as the
// database writes them.
func (t TableName) Quoted(mark string) string {
	name := mark + strings.ReplaceAll(t.Name, mark, mark+mark) + mark
	if t.Schema == "" {
		return name
	}
	return mark + strings.ReplaceAll(t.Schema, mark, mark+mark) + mark + "." + name
}
