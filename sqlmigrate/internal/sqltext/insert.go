package sqltext

import (
	"slices"
	"strings"
)

// An Insert is a statement that inserts rows. [Updates] also returns an UPDATE in this
// form, with the columns that it sets.
type Insert struct {
	Schema, Table string    // Schema is empty if the statement does not name it
	Columns       []string  // nil if the statement has no list of columns
	Values        [][]Token // the tokens of each value of the first row; nil if a query provides the rows
	Defaults      bool      // whether the statement is INSERT INTO t DEFAULT VALUES
}

// Inserts returns the statements in a body that insert rows, which are INSERT, REPLACE and
// MERGE. A body is the text of a trigger or routine. Inserts also searches each string of
// the body that contains the word INSERT, because the body may execute the string.
func Inserts(body string, rules Rules) (found []Insert) {
	tokens := Scan(body, rules)
	p := insertParser{tokens: tokens}
	for i, t := range tokens {
		switch word := strings.ToLower(t.Text); {
		case t.Kind == Text && strings.Contains(word, "insert"):
			found = append(found, Inserts(t.Text, rules)...)
		case t.Kind != Word:
		// In MERGE INTO t … INSERT (…), the table stands after MERGE INTO only, so keep it
		// for the INSERT.
		case word == "merge" && p.is(i+1, "into"):
			p.at = i + 2
			p.merged.Schema, p.merged.Table = p.name()
		case word == "insert" && p.is(i+1, "(", "values", "default") && p.merged.Table != "":
			p.at = i + 1
			found = append(found, p.insert(p.merged))
		// The REPLACE of INSERT OR REPLACE INTO does not begin a statement.
		case word == "insert", word == "replace" && p.is(i+1, "into") && (i == 0 || !p.is(i-1, "or")):
			p.at = i + 1
			if in, ok := p.into(); ok {
				found = append(found, in)
			}
		}
	}
	return found
}

// An insertParser parses the tokens of a body. Its methods begin at position at, and move
// at behind the tokens that they have parsed.
type insertParser struct {
	tokens []Token
	at     int
	merged Insert // its table is the target of the last MERGE, whose INSERT names no table
}

// is reports whether one of words, which are keywords in lower case or signs, is at
// position i. A string is not a keyword.
func (p *insertParser) is(i int, words ...string) bool {
	return i < len(p.tokens) && p.tokens[i].Kind != Text && slices.Contains(words, strings.ToLower(p.tokens[i].Text))
}

// into parses the rest of a statement after its first word, INSERT or REPLACE. It returns
// false if no name of a table follows this word, because the word then does not begin a
// statement. Examples are the head of a trigger (AFTER INSERT ON t) and the function call
// INSERT('abc', 1, 2, 'x'). A token of a Kind above Name is a string or a sign, and no
// name.
func (p *insertParser) into() (Insert, bool) {
	if p.is(p.at, "or") { // skip OR REPLACE of SQLite
		p.at += 2
	}
	for p.is(p.at, "low_priority", "delayed", "high_priority", "ignore", "into") {
		p.at++
	}
	if p.at >= len(p.tokens) || p.tokens[p.at].Kind > Name || p.is(p.at, "on", "or", "to", "of", "then") {
		return Insert{}, false
	}
	var in Insert
	in.Schema, in.Table = p.name()
	return p.insert(in), true
}

// name parses the name of a table or column, for example shop.orders, and returns shop and
// orders. schema is empty if the name has no dot. For a column, schema is the name of the
// table. The parts of a name are tokens of a Kind up to Name, which are words and quoted
// names.
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

// insert parses an INSERT after the name of its table, which in has. It returns in with
// the list of columns and the values of the first row.
func (p *insertParser) insert(in Insert) Insert {
	if p.is(p.at, "as") { // skip AS and the alias
		p.at += 2
	}
	if p.is(p.at, "partition") { // skip PARTITION (p0, p1)
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

// list parses a list in parentheses, and returns the tokens of each item. For example, it
// returns the items 1 and f(a, b) of (1, f(a, b)), because a comma within parentheses does
// not separate items. It returns nil if no list begins at p.at.
func (p *insertParser) list() (items [][]Token) {
	if !p.is(p.at, "(") {
		return nil
	}
	items = [][]Token{nil}
	for depth := 0; p.at < len(p.tokens); p.at++ { // depth is the number of open parentheses
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

// assignments parses assignments such as SET a = 1, b = f(2, 3), beginning at SET, and
// returns the columns and the tokens of each value. The list of assignments ends at a
// semicolon, or at a keyword such as WHERE.
func (p *insertParser) assignments() (columns []string, values [][]Token) {
	depth := 0 // number of open parentheses; a comma or keyword within them belongs to a value
	for p.at++; p.at < len(p.tokens) && !p.is(p.at, ";"); p.at++ {
		if depth == 0 {
			if column, ok := p.assigned(); ok {
				columns, values = append(columns, column), append(values, nil)
				continue // p.at is at the =, which p.at++ skips
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

// assigned parses the column of an assignment, such as a of SET a = 1, and reports whether
// an assignment begins at p.at. An assignment follows SET or a comma. Afterwards, p.at is at
// the =. If no assignment begins at p.at, p.at does not change.
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

// Updates returns the UPDATE statements of a body, which is the text of a trigger or
// routine. Each Insert holds the table, the columns that the statement sets, and their
// values. The word UPDATE does not begin a statement in ON DUPLICATE KEY UPDATE, in FOR
// UPDATE and in the head of a trigger.
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

// Gives reports whether the statement gives a value to a column that holds a key. For
// example, INSERT INTO t (id, name) VALUES (7, 'x') gives a value to id. The values
// DEFAULT, NULL and 0 do not count, because MySQL assigns a key for them. If the statement
// has no list of columns, the key is assumed to be the first column of the table. If a
// query provides the rows, or the value is an expression, its result is unknown, and Gives
// returns true.
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
	case at >= len(in.Values): // fewer values than columns
		return false
	case len(in.Values[at]) != 1: // an expression
		return true
	}
	return !slices.Contains([]string{"default", "null", "0"}, strings.ToLower(in.Values[at][0].Text))
}

// Targets returns the columns into which a statement of a trigger writes NEW.column, for
// example order_id for the statement INSERT INTO logs (order_id) VALUES (NEW.id) and the
// column id. If column is a key, these columns must be wide enough for it. If the statement
// has no list of columns, Targets returns as places the positions of these columns in their
// table, from 0 on.
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
