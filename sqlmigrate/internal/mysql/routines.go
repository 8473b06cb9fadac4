package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// The servers widen a column even if a routine copies it into a narrower variable. With a
// Snowflake ID, the routine then fails with error 1264, or cuts the ID if the SQL mode is
// not strict. It is unknown which variables hold keys. Therefore a note lists all narrow
// variables of a routine that mentions a key, and advises to make them bigint, which is also
// right for variables that hold other values. A trigger that fails prevents every write to
// its table. So a trigger is a blocker, but only if its text assigns a key to a narrow
// variable.

// A routine is a procedure, function, trigger or event. Table is the table of a trigger.
// Body is the SQL of the routine, after readRoutines in the form that normalizeBody
// returns.
type routine struct {
	Kind, Name, Table, Body string

	// Narrow has the types of the narrow variables by their names, and of a narrow result under "".
	Narrow map[string]string `row:"-"`
}

// Queries for the code that the server runs for the application. Their columns are the kind
// and name of a routine, the table of a trigger, and the text. %s is the database.
const (
	routinesSQL = "SELECT ROUTINE_TYPE, ROUTINE_NAME, '', COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES " +
		"WHERE ROUTINE_SCHEMA = %s ORDER BY 1, 2"
	eventsSQL   = "SELECT 'EVENT', EVENT_NAME, '', EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s ORDER BY 2"
	triggersSQL = "SELECT 'TRIGGER', TRIGGER_NAME, EVENT_OBJECT_TABLE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s ORDER BY 2"

	// paramsSQL returns the parameters and results of routines that are too narrow for a
	// key, because the text of a routine does not contain them. A result has no name. The
	// query excludes tinyint(1), which is a bool.
	paramsSQL = "SELECT ROUTINE_TYPE, SPECIFIC_NAME, COALESCE(PARAMETER_NAME, ''), DTD_IDENTIFIER FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = %s " +
		"AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int') AND DTD_IDENTIFIER <> 'tinyint(1)'"
)

// noteRoutines reads the routines in the databases of all columns to widen. It returns
// notes on routines, and blockers for triggers, whose variables are too narrow for the new
// keys.
func noteRoutines(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	keys := keyNamesOf(g.columnsToWiden())
	for _, schema := range keys.schemas {
		routines, err := readRoutines(ctx, conn, mycatalog.SchemaOf(plan.TableName{Schema: schema}))
		if err != nil {
			return found, fmt.Errorf("sqlmigrate: read the routines, triggers and events: %w", err)
		}
		for _, r := range routines {
			found.Add(r.report(schema, keys))
		}
	}
	return found, nil
}

// readRoutines reads the routines, events and triggers of a database, with their narrow
// variables, parameters and results. schema is an SQL expression for the name of the
// database.
func readRoutines(ctx context.Context, conn *sql.Conn, schema string) (routines []routine, err error) {
	params, err := rows.Read[struct{ Kind, Of, Name, Type string }](ctx, conn, fmt.Sprintf(paramsSQL, schema))
	for _, query := range []string{routinesSQL, eventsSQL, triggersSQL} {
		if err != nil {
			return nil, err
		}
		var found []routine
		found, err = rows.Read[routine](ctx, conn, fmt.Sprintf(query, schema))
		routines = append(routines, found...)
	}
	for i := range routines {
		r := &routines[i]
		r.Body, r.Narrow = normalizeBody(r.Body), map[string]string{}
		for _, p := range params {
			if r.Kind == p.Kind && r.Name == p.Of {
				r.Narrow[normalizeName(p.Name)] = p.Type
			}
		}
		for _, m := range declaration.FindAllStringSubmatch(r.Body, -1) {
			for _, name := range namesIn(m[1] + m[2]) {
				r.Narrow[name] = m[3]
			}
		}
		// In CAST(x AS SIGNED INT), the expression declaration takes SIGNED for the name of a
		// variable.
		delete(r.Narrow, "signed")
		delete(r.Narrow, "unsigned")
	}
	return routines, err
}

// report returns a blocker if the routine is a trigger of a widened table that assigns a
// key to a narrow variable, because every write to the table could then fail. Otherwise it
// returns a note if the routine has narrow variables, and its body, its table or a variable
// mentions a key, because it is unknown which variables hold the key. schema is the
// database of the routine.
func (r routine) report(schema string, k keyNames) (found engine.Findings) {
	const reason = "has %s, which may take a key: it fails with error 1264 as soon as that is a Snowflake ID"
	words := append(strings.Fields(r.Body), normalizeName(r.Table)) // which may mention a key
	for name := range r.Narrow {
		words = append(words, name)
	}
	targets := r.narrowTargets(k)
	switch {
	case r.Kind == "TRIGGER" && k.tables[normalizeName(r.Table)] && len(targets) > 0:
		found.Block(plan.TableName{Schema: schema, Name: r.Table}, "trigger "+r.Name, fmt.Sprintf("it "+reason, describeVariables(targets)), "make it bigint")
	case len(r.Narrow) > 0 && slices.ContainsFunc(words, k.mentionedBy):
		found.Note("%s "+reason+". Make it bigint.", strings.ToLower(r.Kind)+" "+r.Name, describeVariables(r.Narrow))
	}
	return found
}

// describeVariables returns variables with their types, sorted, for example "v_out int,
// v_rentals int". The empty name stands for the result of a function.
func describeVariables(variables map[string]string) string {
	var all []string
	for name, typ := range variables {
		if name == "" {
			name = "a result of"
		}
		all = append(all, name+" "+typ)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// narrowTargets returns the narrow variables to which a statement of the routine assigns a
// key, with their types. For example, it returns x int for SET x = NEW.id, if x is an int
// and id is a key. It analyzes SELECT INTO, the default of a declaration, and assignments.
//
// In SELECT name, id INTO y, x it matches each variable with the expression at the same
// place. If the places are not clear, because a function call contains commas, it returns
// the variables only if all of them are narrow. An expression with COUNT is not a key.
func (r routine) narrowTargets(k keyNames) map[string]string {
	found := map[string]string{}
	isKey := func(word string) bool { return k.columns[word] || word == "last_insert_id" }
	isWide := func(name string) bool { return r.Narrow[name] == "" }
	// assign adds targets to found if all of them are narrow and the expression contains a key.
	assign := func(targets []string, expression string) {
		words := strings.Fields(expression)
		if slices.ContainsFunc(words, isKey) && !slices.Contains(words, "count") && !slices.ContainsFunc(targets, isWide) {
			for _, name := range targets {
				found[name] = r.Narrow[name]
			}
		}
	}
	for _, statement := range statementEnd.Split(r.Body, -1) {
		// SELECT … INTO
		if m := selectInto.FindStringSubmatch(statement); m != nil {
			targets, items := namesIn(m[2]), strings.Split(m[1], " , ")
			if len(items) != len(targets) { // a call such as COALESCE(id, 1) also contains a comma
				assign(targets, m[1])
				items = nil
			}
			for i, item := range items {
				assign(targets[i:i+1], item)
			}
		}
		// DECLARE … DEFAULT
		if m := declaredDefault.FindStringSubmatch(statement); m != nil {
			assign(namesIn(m[1]), m[2])
		}
		// SET … = and :=
		for _, m := range assignment.FindAllStringSubmatch(statement, -1) {
			assign(m[1:2], m[2])
		}
	}
	return found
}

// These expressions match parts of a body in the form that normalizeBody returns, in
// which a blank separates all words and signs.
var (
	// declaration matches the declaration of variables, or of a column of a temporary
	// table, whose type is too narrow for a key. Of declare x , y int it captures the
	// names before the last, which are "x , ", the last name y, and the type int.
	declaration = regexp.MustCompile(`(?:^| )(?:declare ((?:[^ ]+ , )+))?([\pL_$][^ ]*) ((?:tiny|small|medium)?int|integer|int[1-4]|middleint)\b`)

	// statementEnd matches the words and signs that separate statements, such as ; and then.
	statementEnd = regexp.MustCompile(`\b(?:begin|then|else|do)\b|;`)

	// selectInto captures the expressions and the targets of a SELECT … INTO. Of
	// select max ( id ) , 1 into x , n from t it captures max ( id ) , 1 and x , n.
	selectInto = regexp.MustCompile(`\bselect (.+?)(?: from .*)? into (.+?)(?: (?:from|for) .*)? ?$`)

	// declaredDefault captures the names and the default of a declaration. Of
	// declare x , y int default new . id it captures x , y and new . id.
	declaredDefault = regexp.MustCompile(`\bdeclare ((?:[^ ]+ , )*[^ ]+) .* default (.+?)(?: from .*)?$`)

	// assignment captures the target of an assignment and the first word of the value,
	// without the name of a row before it. Of x = new . id it captures x and id. The
	// target of @ x = 1 is @ x, and of new . x = 1 it is . x, because neither is the
	// declared variable x.
	assignment = regexp.MustCompile(`((?:[@.] )?[^ ]+) :?= (?:[^ ]+ \. )?([^ ]+)`)
)

// namesIn returns the names in a list that is separated by commas and blanks.
func namesIn(list string) []string { return strings.Fields(strings.ReplaceAll(list, ",", "")) }

// normalizeBody returns a body in lower case, without comments, and with a blank between
// all words and signs. For example, SET x=NEW.`Id` becomes set x = new . id. It replaces
// each string by a quote, so that a search does not match its content.
func normalizeBody(body string) string {
	return mycatalog.Join(sqltext.Scan(body, bodyRules), " ", func(t sqltext.Token) string {
		if t.Kind == sqltext.Text || body[t.Start] == '"' {
			return "'"
		}
		return normalizeName(t.Text)
	})
}

// normalizeName returns a name in lower case, with underscores in place of blanks, so that
// a quoted name with a blank is a single word of a body.
func normalizeName(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

// bodyRules are the rules by which sqltext reads the text of routines and triggers.
var bodyRules = sqltext.Rules{Backslash: true, Hash: true, Backticks: true}

// A keyNames holds the names of the widened columns and their tables, in the form that
// normalizeName returns, for a search in texts. schemas are the databases of the tables.
type keyNames struct {
	schemas []string
	tables  map[string]bool
	columns map[string]bool
}

// keyNamesOf returns the names of the columns, and the names and databases of their
// tables.
func keyNamesOf(columns []*column) keyNames {
	k := keyNames{tables: map[string]bool{}, columns: map[string]bool{}}
	for _, c := range columns {
		k.schemas = engine.AppendNew(k.schemas, c.Table.Schema)
		name := normalizeName(c.Table.Name)
		k.tables[name] = true
		k.columns[normalizeName(c.Name)] = true
		if c.Primary { // a variable with a key of users is often called user_id
			k.columns[strings.TrimSuffix(name, "s")+"_id"] = true
		}
	}
	return k
}

// mentionedBy reports whether a word is the name of a table or a column. The name of a
// column may have a prefix, as in p_user_id for user_id. A column id does not count,
// because every table may have one.
func (k keyNames) mentionedBy(word string) bool {
	// name is first p_user_id, then user_id, then id.
	for name, more := word, true; more; _, name, more = strings.Cut(name, "_") {
		if k.columns[name] && name != "id" {
			return true
		}
	}
	return k.tables[word]
}
