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
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
)

// The servers accept a change of a column that a routine copies into a narrower
// variable, and the routine then fails with error 1264, or cuts the key where the SQL
// mode is not strict. Whether a variable holds a key is guessed, from its name, and from
// what it is compared with, assigned to or taken from: so this only makes a note, but for
// a trigger, without which no row is written. A bigint holds what else it may take.

// A routine is a procedure, function, trigger or event.
type routine struct {
	Kind, Name, Body string
	Narrow           map[string]string `row:"-"` // parameters, by their names in small letters: their types
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
func noteRoutines(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	keys := keysOf(g.widened())
	for _, schema := range keys.schemas {
		routines, err := readRoutines(ctx, conn, schema)
		if err != nil {
			return found, fmt.Errorf("sqlmigrate: read the routines, triggers and events: %w", err)
		}
		for _, r := range routines {
			if narrow := r.narrowKeys(keys); len(narrow) > 0 {
				found.Add(r.report(keys, strings.Join(narrow, ", ")))
			}
		}
	}
	return found, nil
}

// report blocks what would keep rows from being written to a table of the move.
func (r routine) report(keys keyNames, narrow string) (found engine.Findings) {
	reason := "has " + narrow + ", which may take a key: it fails with error 1264 as soon as that is a Snowflake ID"
	if table, _, _ := strings.Cut(r.Body, " "); r.Kind == "TRIGGER" && keys.tables[strings.ToLower(table)] {
		found.Block(table, "trigger "+r.Name, "it "+reason, "make it bigint")
		return found
	}
	found.Note("%s %s %s. Make it bigint.", r.Kind[:1]+strings.ToLower(r.Kind[1:]), r.Name, reason)
	return found
}

func readRoutines(ctx context.Context, conn *sql.Conn, schema string) ([]routine, error) {
	var routines []routine
	in := mycatalog.SchemaOf(engine.TableName{Schema: schema})
	for _, query := range []string{routinesSQL, eventsSQL, triggersSQL} {
		found, err := rows.Read[routine](ctx, conn, fmt.Sprintf(query, in))
		if err != nil {
			return nil, err
		}
		routines = append(routines, found...)
	}
	params, err := rows.Read[struct{ Kind, Of, Name, Type string }](ctx, conn, fmt.Sprintf(paramsSQL, in))
	for i := range routines {
		r := &routines[i]
		r.Narrow = map[string]string{}
		for _, p := range params {
			if r.Kind == p.Kind && r.Name == p.Of {
				r.Narrow[strings.ToLower(p.Name)] = p.Type
			}
		}
	}
	return routines, err
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
		k.schemas = engine.AppendNew(k.schemas, c.Table.Schema)
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
	tokens := tokensOf(r.Body)
	statements := statementsOf(tokens)
	variables := r.variables(statements)
	mentioned := slices.ContainsFunc(tokens, func(t string) bool { return k.tables[t] })
	taken := k.takers(statements)
	var found []string
	for name, typ := range variables {
		switch {
		case name == "": // what a function returns
			if mentioned && slices.ContainsFunc(returned(statements), func(v string) bool {
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
func (r routine) variables(statements [][]string) map[string]string {
	all := maps.Clone(r.Narrow)
	for _, s := range statements {
		for i, t := range s {
			if i == 0 || !narrowType.MatchString(t) {
				continue
			}
			names := s[i-1 : i]
			if list := s[1:i]; s[0] == "declare" && !slices.ContainsFunc(list, func(t string) bool { return t != "," && !isName(t) }) {
				names = list // DECLARE a, b int
			}
			for _, name := range names {
				if isName(name) {
					all[name] = t
				}
			}
		}
	}
	return all
}

// takers are the names that meet a key: in a comparison or an assignment, at the place
// of one in a SELECT … INTO, a FETCH or an INSERT, or as a default.
func (k keyNames) takers(statements [][]string) map[string]bool {
	taken := map[string]bool{}
	take := func(targets, given [][]string) {
		for i := range min(len(targets), len(given)) {
			if len(targets[i]) > 0 && k.mayBeIn(given[i]) {
				taken[targets[i][0]] = true
			}
		}
	}
	cursors := map[string][][]string{}
	for _, s := range statements {
		for i, t := range s {
			if isComparison(t) && i > 0 && i+1 < len(s) {
				left, right := s[i-1], operand(s[i+1:])
				taken[left] = taken[left] || k.columns[right]
				taken[right] = taken[right] || k.columns[left]
			}
		}
		take([][]string{after(s, "declare")}, [][]string{after(s, "default")})
		into, values := slices.Index(s, "into"), slices.Index(s, "values")
		switch cursor := slices.Index(s, "cursor"); {
		case cursor > 0: // DECLARE c CURSOR FOR SELECT a, b
			cursors[s[cursor-1]] = items(after(s, "select"))
		case into >= 0 && values > into: // INSERT INTO t (a, b) VALUES (c, d)
			take(items(after(s[values:], "(")), items(after(s[:values], "(")))
		case into > 0 && cursors[s[into-1]] != nil: // FETCH c INTO d, e
			take(items(s[into+1:]), cursors[s[into-1]])
		case into > 0: // SELECT a, b INTO c, d
			take(items(s[into+1:]), items(after(s[:into], "select")))
		}
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

// mayBeIn reports whether an expression may be a key. A count of them is not.
func (k keyNames) mayBeIn(expression []string) bool {
	return !slices.Contains(expression, "count") && slices.ContainsFunc(expression, func(t string) bool { return k.columns[t] || t == "last_insert_id" })
}

// after is what follows a word, if it is there.
func after(s []string, word string) []string {
	if i := slices.Index(s, word); i >= 0 {
		return s[i+1:]
	}
	return nil
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
func returned(statements [][]string) []string {
	var names []string
	for _, s := range statements {
		if result := after(s, "return"); !slices.Contains(result, "count") {
			names = append(names, result...)
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
	for _, t := range sqltext.Scan(body, bodyRules) {
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
