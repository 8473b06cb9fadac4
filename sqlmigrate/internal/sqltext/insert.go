package sqltext

import (
	"slices"
	"strings"
)

// An Insert is a statement that inserts rows, or one of [Updates], which sets columns.
type Insert struct {
	Schema, Table string
	Columns       []string  // nil if the statement has no list of columns
	Values        [][]Token // the values of the first row; nil if a query provides the rows
	Defaults      bool      // whether the statement is INSERT INTO t DEFAULT VALUES
}

// Inserts returns the statements in a body that insert rows. A body is the text of a
// trigger or routine. Statements in its strings are included, because the body may
// execute them.
func Inserts(body string, rules Rules) (found []Insert) {
	tokens := Scan(body, rules)
	p := insertParser{tokens: tokens}
	for i, t := range tokens {
		switch word := strings.ToLower(t.Text); {
		case t.Kind == Text && strings.Contains(word, "insert"):
			found = append(found, Inserts(t.Text, rules)...)
		case t.Kind != Word:
		// MERGE INTO t … INSERT (…) names its table once.
		case word == "merge" && p.is(i+1, "into"):
			p.at = i + 2
			p.merged.Schema, p.merged.Table = p.name()
		case word == "insert" && p.is(i+1, "(", "values", "default") && p.merged.Table != "":
			p.at = i + 1
			found = append(found, p.insert(p.merged))
		// In INSERT OR REPLACE INTO, the statement begins with INSERT.
		case word == "insert", word == "replace" && p.is(i+1, "into") && (i == 0 || !p.is(i-1, "or")):
			p.at = i + 1
			if in, ok := p.into(); ok {
				found = append(found, in)
			}
		}
	}
	return found
}

// An insertParser parses the tokens of a body from position at on.
type insertParser struct {
	tokens []Token
	at     int
	merged Insert // its table is the target of the last MERGE, for which an INSERT names no table
}

// is reports whether one of the words or signs is at position i.
func (p *insertParser) is(i int, words ...string) bool {
	return i < len(p.tokens) && p.tokens[i].Kind != Text && slices.Contains(words, strings.ToLower(p.tokens[i].Text))
}

// into parses the rest of an INSERT or REPLACE, after this word. It returns false if the
// word is not a statement, for example in the head of a trigger, or a function.
func (p *insertParser) into() (Insert, bool) {
	if p.is(p.at, "or") { // skip OR REPLACE of SQLite
		p.at += 2
	}
	for p.is(p.at, "low_priority", "delayed", "high_priority", "ignore", "into") {
		p.at++
	}
	// No name of a table follows, for example in AFTER INSERT ON t and in the function
	// call INSERT('abc', 1, 2, 'x').
	if p.at >= len(p.tokens) || p.tokens[p.at].Kind > Name || p.is(p.at, "on", "or", "to", "of", "then") {
		return Insert{}, false
	}
	var in Insert
	in.Schema, in.Table = p.name()
	return p.insert(in), true
}

// name parses the name of a table or column, with a schema or table before it if there is
// one.
func (p *insertParser) name() (schema, name string) {
	for p.at < len(p.tokens) && p.tokens[p.at].Kind <= Name {
		schema, name = name, p.tokens[p.at].Text
		if p.at++; !p.is(p.at, ".") {
			break
		}
		p.at++
	}
	return schema, name
}

// insert parses the columns and the values of the first row, and returns them with the
// table of in.
func (p *insertParser) insert(in Insert) Insert {
	if p.is(p.at, "as") { // skip AS and the alias
		p.at += 2
	}
	if p.is(p.at, "partition") {
		p.at++
		p.list()
	}
	if p.is(p.at, "(") && !p.is(p.at+1, "select", "with", "values", "(") { // a list of columns, and not a query
		in.Columns = []string{}
		for _, item := range p.list() {
			if len(item) > 0 {
				in.Columns = append(in.Columns, item[len(item)-1].Text) // the last token of table.column
			}
		}
	}
	if p.is(p.at, "overriding") { // skip OVERRIDING SYSTEM VALUE
		p.at += 3
	}
	switch {
	case p.is(p.at, "default"):
		in.Defaults = true
	case p.is(p.at, "values", "value"):
		p.at++
		in.Values = p.list()
	case p.is(p.at, "set"):
		in.Columns, in.Values = p.assignments()
	}
	return in
}

// list parses a list in parentheses, and returns the tokens of each item. It returns nil
// if no list begins here.
func (p *insertParser) list() (items [][]Token) {
	if !p.is(p.at, "(") {
		return nil
	}
	items = [][]Token{nil}
	for depth := 0; p.at < len(p.tokens); p.at++ {
		if p.is(p.at, ")") {
			if depth--; depth == 0 {
				p.at++
				break
			}
		}
		if depth == 1 && p.is(p.at, ",") {
			items = append(items, nil)
			continue
		}
		if depth > 0 {
			items[len(items)-1] = append(items[len(items)-1], p.tokens[p.at])
		}
		if p.is(p.at, "(") {
			depth++
		}
	}
	return items
}

// assignments parses the assignments after SET, as in SET a = 1, b = 2, and returns the
// columns and the tokens of each value.
func (p *insertParser) assignments() (columns []string, values [][]Token) {
	depth := 0
	for p.at++; p.at < len(p.tokens) && !p.is(p.at, ";"); p.at++ {
		if depth == 0 {
			if column, ok := p.assigned(); ok {
				columns, values = append(columns, column), append(values, nil)
				continue // skips the =
			}
			if p.is(p.at, "where", "order", "limit", "on") {
				break
			}
		}
		switch {
		case p.is(p.at, "("):
			depth++
		case p.is(p.at, ")"):
			depth--
		case depth == 0 && p.is(p.at, ","):
			continue
		}
		if len(values) > 0 {
			values[len(values)-1] = append(values[len(values)-1], p.tokens[p.at])
		}
	}
	return columns, values
}

// assigned parses "column =" if an assignment begins at the present token, and reports
// whether it does. If not, it does not move.
func (p *insertParser) assigned() (column string, ok bool) {
	if !p.is(p.at-1, "set", ",") {
		return "", false
	}
	from := p.at
	_, column = p.name()
	if p.is(p.at, "=") {
		return column, true
	}
	p.at = from
	return "", false
}

// Updates returns the UPDATE statements of a body. An Insert holds the table, the columns
// that the statement sets, and their values. UPDATE in ON DUPLICATE KEY UPDATE, FOR
// UPDATE and in the head of a trigger is not a statement.
func Updates(body string, rules Rules) (found []Insert) {
	p := insertParser{tokens: Scan(body, rules)}
	for i, t := range p.tokens {
		if t.Kind != Word || !strings.EqualFold(t.Text, "update") || i > 0 && p.is(i-1, "key", "for", "or", "before", "after", "of") {
			continue
		}
		p.at = i + 1
		for p.is(p.at, "low_priority", "ignore") {
			p.at++
		}
		var update Insert
		update.Schema, update.Table = p.name()
		for p.at < len(p.tokens) && !p.is(p.at, "set", ";") { // skip an alias
			p.at++
		}
		if p.is(p.at, "set") {
			update.Columns, update.Values = p.assignments()
			found = append(found, update)
		}
	}
	return found
}

// Gives reports whether the statement gives a value to a column that holds a key.
// DEFAULT, NULL and 0 do not count, because MySQL assigns a key for them. If the
// statement has no list of columns, the key is assumed to be the first column of the
// table. If a query provides the rows, the value is unknown, and Gives returns true.
func (in Insert) Gives(column string) bool {
	at := slices.IndexFunc(in.Columns, func(c string) bool { return strings.EqualFold(c, column) })
	if in.Columns == nil {
		at = 0
	}
	switch {
	case in.Defaults || at < 0:
		return false
	case in.Values == nil:
		return true
	case at >= len(in.Values) || len(in.Values[at]) != 1: // no value, or an expression, which is taken for a key
		return at < len(in.Values)
	}
	return !slices.Contains([]string{"default", "null", "0"}, strings.ToLower(in.Values[at][0].Text))
}

// Targets returns the columns to which a statement of a trigger assigns NEW.column. If
// column is a key, these columns must be wide enough for it. If the statement has no list
// of columns, Targets returns their positions in the table instead, from 0 on.
func (in Insert) Targets(column string) (columns []string, places []int) {
	for i, value := range in.Values { // NEW.column is three tokens
		n := len(value)
		if n != 3 || !strings.EqualFold(value[0].Text, "new") || value[1].Text != "." || !strings.EqualFold(value[2].Text, column) {
			continue
		}
		if in.Columns == nil {
			places = append(places, i)
		} else if i < len(in.Columns) {
			columns = append(columns, in.Columns[i])
		}
	}
	return columns, places
}
