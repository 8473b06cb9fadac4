package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// The servers accept a change of a column that a routine copies into a narrower
// variable, and the routine then fails with error 1264, or cuts the key where the SQL
// mode is not strict. Whether a variable holds a key is guessed, from its name, and from
// what it is compared with, assigned to or taken from: so this only makes a note.

// A routine is a procedure, function, trigger or event.
type routine struct {
	kind, name, body string
	narrow           map[string]string // parameters, by their names in small letters: their types
}

// These ask for the text of all that the server runs for the application. That of a
// trigger begins with its table, which the text need not name.
const (
	routinesSQL = "SELECT ROUTINE_TYPE, ROUTINE_NAME, COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s ORDER BY 1, 2"
	eventsSQL   = "SELECT 'EVENT', EVENT_NAME, EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s ORDER BY 2"
	triggersSQL = "SELECT 'TRIGGER', TRIGGER_NAME, CONCAT(EVENT_OBJECT_TABLE, ' ', ACTION_STATEMENT) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s ORDER BY 2"

	// paramsSQL asks for parameters and results that are too narrow for a key, which
	// are not in the text.
	paramsSQL = "SELECT ROUTINE_TYPE, SPECIFIC_NAME, COALESCE(PARAMETER_NAME, ''), DTD_IDENTIFIER FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = %s " +
		"AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int') ORDER BY ORDINAL_POSITION"
)

// noteRoutines reads the databases of all tables that are widened.
func noteRoutines(ctx context.Context, conn *sql.Conn, g *graph) (found findings, err error) {
	keys := keysOf(g.widened())
	for _, schema := range keys.schemas {
		routines, err := readRoutines(ctx, conn, schema)
		if err != nil {
			return found, fmt.Errorf("sqlmigrate: read the routines, triggers and events: %w", err)
		}
		for _, r := range routines {
			if narrow := r.narrowKeys(keys); len(narrow) > 0 {
				found.note("%s %s has %s, which may take a key: it fails with error 1264 as soon as that is a Snowflake ID. Make it bigint.",
					r.kind[:1]+strings.ToLower(r.kind[1:]), r.name, strings.Join(narrow, ", "))
			}
		}
	}
	return found, nil
}

func readRoutines(ctx context.Context, conn *sql.Conn, schema string) ([]routine, error) {
	var routines []routine
	var r routine
	in := mycatalog.SchemaOf(engine.TableName{Schema: schema})
	for _, query := range []string{routinesSQL, eventsSQL, triggersSQL} {
		err := mycatalog.Each(ctx, conn, fmt.Sprintf(query, in), []any{&r.kind, &r.name, &r.body}, func() {
			r.narrow = map[string]string{}
			routines = append(routines, r)
		})
		if err != nil {
			return nil, err
		}
	}
	var kind, of, name, typ string
	return routines, mycatalog.Each(ctx, conn, fmt.Sprintf(paramsSQL, in), []any{&kind, &of, &name, &typ}, func() {
		for _, r := range routines {
			if r.kind == kind && r.name == of {
				r.narrow[strings.ToLower(name)] = typ
			}
		}
	})
}

// keyNames are the columns that are widened, for a search in texts.
type keyNames struct {
	schemas []string
	tables  map[string]bool
	columns map[string]bool
}

func keysOf(columns []*column) keyNames {
	k := keyNames{tables: map[string]bool{}, columns: map[string]bool{}}
	for _, c := range columns {
		if !slices.Contains(k.schemas, c.Table.Schema) {
			k.schemas = append(k.schemas, c.Table.Schema)
		}
		name := strings.ToLower(c.Table.Name)
		k.tables[name] = true
		k.columns[strings.ToLower(c.Name)] = true
		if c.Primary { // a variable for users.id is called user_id
			k.columns[strings.TrimSuffix(name, "s")+"_id"] = true
		}
	}
	return k
}

var variablePrefix = regexp.MustCompile(`^(?:_+|(?:p|v|l|i|o|in|out|inout|var|par|param|arg|my|the|new|old|cur|current|last)_+)`)

// named reports whether a variable is named after a key.
func (k keyNames) named(variable string) bool {
	variable = strings.TrimPrefix(variable, "@")
	for {
		if k.columns[variable] && variable != "id" {
			return true
		}
		shorter := variablePrefix.ReplaceAllString(variable, "")
		if shorter == variable {
			return false
		}
		variable = shorter
	}
}

var narrowType = regexp.MustCompile(`^(?:(?:tiny|small|medium)?int|integer|int[1-4]|middleint)$`)

// narrowKeys describes the variables that are too narrow for the keys that they
// may take, in the order of their names.
func (r routine) narrowKeys(k keyNames) []string {
	tokens := tokensOf(r.body)
	variables := r.variables(tokens)
	mentioned := slices.ContainsFunc(tokens, func(t string) bool { return k.tables[t] })
	taken := takers(tokens, k)
	var found []string
	for name, typ := range variables {
		switch {
		case name == "": // what a function returns
			if mentioned && slices.ContainsFunc(returned(tokens), func(v string) bool {
				return k.columns[v] || k.named(v) || variables[v] != "" && taken[v]
			}) {
				found = append(found, "a result of "+typ)
			}
		case k.named(name), mentioned && taken[name]:
			found = append(found, name+" "+typ)
		}
	}
	slices.Sort(found)
	return found
}

// variables are the narrow ones: parameters, and whatever the body declares,
// which may also be a column of a table that it makes.
func (r routine) variables(tokens []string) map[string]string {
	all := maps.Clone(r.narrow)
	for i, t := range tokens {
		if i == 0 || !narrowType.MatchString(t) {
			continue
		}
		for j := i - 1; j >= 0 && isName(tokens[j]); j -= 2 { // DECLARE a, b int
			all[tokens[j]] = t
			if j == 0 || tokens[j-1] != "," || !declared(tokens[:j]) {
				break
			}
		}
	}
	return all
}

// declared reports whether the tokens end within the names of a DECLARE.
func declared(tokens []string) bool {
	for _, t := range slices.Backward(tokens) {
		if t == "declare" {
			return true
		}
		if !isName(t) && t != "," {
			return false
		}
	}
	return false
}

// takers are the names that meet a key: in a comparison or an assignment, at the place
// of one in a SELECT … INTO, a FETCH or an INSERT.
func takers(tokens []string, k keyNames) map[string]bool {
	taken := map[string]bool{}
	cursors := map[string][][]string{}
	for _, s := range statementsOf(tokens) {
		for i, t := range s {
			if isComparison(t) && i > 0 && i+1 < len(s) {
				left, right := s[i-1], operand(s[i+1:])
				taken[left] = taken[left] || k.columns[right]
				taken[right] = taken[right] || k.columns[left]
			}
		}
		takeInto(s, k, taken, cursors)
		takeInsert(s, k, taken)
		takeDefault(s, k, taken)
	}
	return taken
}

func isComparison(t string) bool {
	return slices.Contains([]string{"=", "<", ">", "<=", ">=", "<>", "!=", "<=>", ":="}, t)
}

// operand is the first name of an expression, without what qualifies it.
func operand(s []string) string {
	i := 0
	for i+2 < len(s) && s[i+1] == "." {
		i += 2
	}
	return s[i]
}

// takeInto goes through SELECT a, b INTO c, d and FETCH cursor INTO c, d.
func takeInto(s []string, k keyNames, taken map[string]bool, cursors map[string][][]string) {
	selects := slices.Index(s, "select")
	if i := slices.Index(s, "cursor"); i > 0 && selects > i {
		cursors[s[i-1]] = items(s[selects+1:])
		return
	}
	into := slices.Index(s, "into")
	if into < 0 {
		return
	}
	var from [][]string
	if fetch := slices.Index(s, "fetch"); fetch >= 0 && fetch < into {
		from = cursors[s[into-1]]
	} else if selects >= 0 && selects < into {
		from = items(s[selects+1:])
	}
	for i, target := range items(s[into+1:]) {
		if i < len(from) && len(target) > 0 && givesKey(from[i], k) {
			taken[target[0]] = true
		}
	}
}

// takeInsert goes through INSERT INTO t (a, b) VALUES (c, d).
func takeInsert(s []string, k keyNames, taken map[string]bool) {
	insert, values := slices.Index(s, "into"), slices.Index(s, "values")
	if insert < 0 || values < insert {
		return
	}
	open := slices.Index(s[:values], "(")
	if open < 0 || values+2 > len(s) {
		return
	}
	given := items(s[values+2:])
	for i, c := range items(s[open+1 : values]) {
		if i < len(given) && len(c) > 0 && k.columns[c[0]] && len(given[i]) > 0 {
			taken[given[i][0]] = true
		}
	}
}

// takeDefault goes through DECLARE a int DEFAULT new.id.
func takeDefault(s []string, k keyNames, taken map[string]bool) {
	declare, preset := slices.Index(s, "declare"), slices.Index(s, "default")
	if declare >= 0 && preset > declare+1 && preset+1 < len(s) && givesKey(s[preset+1:], k) {
		taken[s[declare+1]] = true
	}
}

// givesKey reports whether an expression may be a key. A count of them is not.
func givesKey(expression []string, k keyNames) bool {
	return !slices.Contains(expression, "count") && slices.ContainsFunc(expression, func(t string) bool { return k.columns[t] || t == "last_insert_id" })
}

// items are the parts of a list up to the word that ends it.
func items(s []string) [][]string {
	var all [][]string
	depth, start := 0, 0
	for i, t := range append(slices.Clone(s), "from") {
		switch {
		case t == "(":
			depth++
		case t == ")" && depth > 0:
			depth--
		case depth > 0:
		case t == ")" || t == "," || t == "from" || t == "into" || t == "where":
			all = append(all, s[start:min(i, len(s))])
			start = i + 1
			if t != "," {
				return all
			}
		}
	}
	return all
}

// returned are the names that stand in a RETURN.
func returned(tokens []string) []string {
	var names []string
	for _, s := range statementsOf(tokens) {
		if i := slices.Index(s, "return"); i >= 0 && !slices.Contains(s[i:], "count") {
			names = append(names, s[i+1:]...)
		}
	}
	return names
}

func statementsOf(tokens []string) [][]string {
	var all [][]string
	start := 0
	for i, t := range tokens {
		if t == ";" || t == "begin" || t == "then" || t == "else" || t == "do" {
			all = append(all, tokens[start:i])
			start = i + 1
		}
	}
	return append(all, tokens[start:])
}

var word = regexp.MustCompile(`^[\pL_@$][\pL\pN_@$]*$`)

func isName(t string) bool { return word.MatchString(t) }

// tokensOf are the words and signs of a body, in small letters. A string is a quote, and
// a variable one word with its @.
func tokensOf(body string) []string {
	var tokens []string
	end := -1 // of the word before
	for _, t := range sqltext.Scan(body, sqltext.Rules{Backslash: true, Hash: true, Backticks: true}) {
		text := strings.ToLower(t.Text)
		if t.Kind == sqltext.Text || body[t.Start] == '"' {
			text = "'"
		}
		isWord := t.Kind == sqltext.Word || t.Kind == sqltext.Sign && text == "@"
		if isWord && t.Start == end {
			tokens[len(tokens)-1] += text
		} else {
			tokens = append(tokens, text)
		}
		if isWord {
			end = t.End
		}
	}
	return tokens
}
