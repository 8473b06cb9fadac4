package sqlmigrate

import (
	"errors"
	"fmt"
	"strings"
)

const (
	tableForm  = `want table or schema.table, with double quotes around a name that has a dot`
	columnForm = `want table.column or schema.table.column, with double quotes around a name that has a dot`
)

func parseTable(s string) (tableName, error) {
	parts, err := splitName(s)
	if err != nil || len(parts) > 2 {
		return tableName{}, fmt.Errorf("%q is not the name of a table: %s", s, tableForm)
	}
	return tableOf(parts), nil
}

func parseColumn(s string) (tableName, string, error) {
	parts, err := splitName(s)
	if err != nil || len(parts) < 2 || len(parts) > 3 {
		return tableName{}, "", fmt.Errorf("%q is not the name of a column: %s", s, columnForm)
	}
	last := len(parts) - 1
	return tableOf(parts[:last]), parts[last], nil
}

func tableOf(parts []string) tableName {
	if len(parts) == 1 {
		return tableName{name: parts[0]}
	}
	return tableName{parts[0], parts[1]}
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

// String writes the name so that parseTable reads it.
func (t tableName) String() string {
	if t.schema == "" {
		return quoteDotted(t.name)
	}
	return quoteDotted(t.schema) + "." + quoteDotted(t.name)
}

func quoteDotted(name string) string {
	if !strings.Contains(name, ".") && !strings.HasPrefix(name, `"`) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// quoted is the name, with its schema if it has one, between marks as the
// database writes them.
func (t tableName) quoted(mark string) string {
	name := mark + strings.ReplaceAll(t.name, mark, mark+mark) + mark
	if t.schema == "" {
		return name
	}
	return mark + strings.ReplaceAll(t.schema, mark, mark+mark) + mark + "." + name
}
