package engine

import (
	"errors"
	"fmt"
	"strings"
)

const (
	tableForm  = `want table or schema.table, with double quotes around a name that has a dot`
	columnForm = `want table.column or schema.table.column, with double quotes around a name that has a dot`
)

// ParseTable reads table or schema.table.
func ParseTable(s string) (TableName, error) {
	parts, err := splitName(s)
	if err != nil || len(parts) > 2 {
		return TableName{}, fmt.Errorf("%q is not the name of a table: %s", s, tableForm)
	}
	return TableOf(parts), nil
}

// ParseColumn reads table.column or schema.table.column.
func ParseColumn(s string) (TableName, string, error) {
	parts, err := splitName(s)
	if err != nil || len(parts) < 2 || len(parts) > 3 {
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

var errName = errors.New("malformed name")

// splitName splits at dots that are not between double quotes. Names are used
// as they are written, whatever case the database folds them to elsewhere.
func splitName(s string) ([]string, error) {
	var parts []string
	for {
		part, rest, err := cutPart(s)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if rest == "" {
			return parts, nil
		}
		s = rest[1:]
	}
}

// cutPart returns the first part of s, and the rest that begins with a dot.
func cutPart(s string) (part, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s+".", '.')
		if end == 0 {
			return "", "", errName
		}
		return s[:end], s[end:], nil
	}
	end := closingQuote(s)
	if end < 2 {
		return "", "", errName
	}
	part, rest = strings.ReplaceAll(s[1:end], `""`, `"`), s[end+1:]
	if rest != "" && rest[0] != '.' {
		return "", "", errName
	}
	return part, rest, nil
}

// closingQuote is the index of the quote that ends the one with which s begins,
// or -1. A doubled one stands for itself.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return i
		}
		i++
	}
	return -1
}

// String writes the name so that ParseTable reads it.
func (t TableName) String() string {
	if t.Schema == "" {
		return QuoteDotted(t.Name)
	}
	return QuoteDotted(t.Schema) + "." + QuoteDotted(t.Name)
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
