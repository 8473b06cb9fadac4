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

// The servers accept a change of a column that a routine copies into a narrower
// variable, and the routine then fails with error 1264, or cuts the key where the SQL
// mode is not strict. Which variables hold keys is not known, so a note has all narrow
// ones of a routine that has to do with a key: a bigint holds what else they may take. A
// trigger, without which no row is written, blocks only if its text gives a key to one.

// A routine is a procedure, function, trigger or event.
type routine struct {
	Kind, Name, Table, Body string
	Narrow                  map[string]string `row:"-"` // variables, and as "" what a function returns: their types
}

// These ask for the text of all that the server runs for the application.
const (
	routinesSQL = "SELECT ROUTINE_TYPE, ROUTINE_NAME, '', COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES " +
		"WHERE ROUTINE_SCHEMA = %s ORDER BY 1, 2"
	eventsSQL   = "SELECT 'EVENT', EVENT_NAME, '', EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s ORDER BY 2"
	triggersSQL = "SELECT 'TRIGGER', TRIGGER_NAME, EVENT_OBJECT_TABLE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s ORDER BY 2"

	// paramsSQL asks for parameters and results that are too narrow for a key, which
	// are not in the text. A tinyint(1) is a bool.
	paramsSQL = "SELECT ROUTINE_TYPE, SPECIFIC_NAME, COALESCE(PARAMETER_NAME, ''), DTD_IDENTIFIER FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = %s " +
		"AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int') AND DTD_IDENTIFIER <> 'tinyint(1)'"
)

// noteRoutines reads the databases of all tables that are widened.
func noteRoutines(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	keys := keysOf(g.widened())
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
		r.Body, r.Narrow = wordsOf(r.Body), map[string]string{}
		for _, p := range params {
			if r.Kind == p.Kind && r.Name == p.Of {
				r.Narrow[wordOf(p.Name)] = p.Type
			}
		}
		for _, m := range declaration.FindAllStringSubmatch(r.Body, -1) {
			for _, name := range namesIn(m[1] + m[2]) {
				r.Narrow[name] = m[3]
			}
		}
		delete(r.Narrow, "signed") // CAST(… AS SIGNED INT)
		delete(r.Narrow, "unsigned")
	}
	return routines, err
}

// report blocks what would keep rows from being written to a table of the move.
func (r routine) report(schema string, k keyNames) (found engine.Findings) {
	const reason = "has %s, which may take a key: it fails with error 1264 as soon as that is a Snowflake ID"
	words := append(strings.Fields(r.Body), wordOf(r.Table))
	for name := range r.Narrow {
		words = append(words, name)
	}
	taken := r.taken(k)
	switch {
	case r.Kind == "TRIGGER" && k.tables[wordOf(r.Table)] && len(taken) > 0:
		found.Block(plan.TableName{Schema: schema, Name: r.Table}, "trigger "+r.Name, fmt.Sprintf("it "+reason, describe(taken)), "make it bigint")
	case len(r.Narrow) > 0 && slices.ContainsFunc(words, k.mentionedBy):
		found.Note("%s %s "+reason+". Make it bigint.", r.Kind[:1]+strings.ToLower(r.Kind[1:]), r.Name, describe(r.Narrow))
	}
	return found
}

// describe has variables with their types.
func describe(variables map[string]string) string {
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

// taken are the narrow variables to which a statement gives a key, by its place in a list,
// or where that is not plain with nothing to wide ones. A count of keys is none.
func (r routine) taken(k keyNames) map[string]string {
	taken := map[string]string{}
	isKey := func(word string) bool { return k.columns[word] || word == "last_insert_id" }
	isWide := func(name string) bool { return r.Narrow[name] == "" }
	give := func(targets []string, expression string) {
		given := strings.Fields(expression)
		if slices.ContainsFunc(given, isKey) && !slices.Contains(given, "count") && !slices.ContainsFunc(targets, isWide) {
			for _, name := range targets {
				taken[name] = r.Narrow[name]
			}
		}
	}
	for _, statement := range statementEnd.Split(r.Body, -1) {
		if m := selection.FindStringSubmatch(statement); m != nil {
			targets, items := namesIn(m[2]), strings.Split(m[1], " , ")
			if len(items) != len(targets) { // a function has commas too
				give(targets, m[1])
				items = nil
			}
			for i, item := range items {
				give(targets[i:i+1], item)
			}
		}
		if m := preset.FindStringSubmatch(statement); m != nil {
			give(namesIn(m[1]), m[2])
		}
		for _, m := range assignment.FindAllStringSubmatch(statement, -1) {
			give(m[1:2], m[2])
		}
	}
	return taken
}

// These find parts of a body, as wordsOf writes it.
var (
	declaration  = regexp.MustCompile(`(?:^| )(?:declare ((?:[^ ]+ , )+))?([\pL_$][^ ]*) ((?:tiny|small|medium)?int|integer|int[1-4]|middleint)\b`)
	statementEnd = regexp.MustCompile(`\b(?:begin|then|else|do)\b|;`)
	selection    = regexp.MustCompile(`\bselect (.+?)(?: from .*)? into (.+?)(?: (?:from|for) .*)? ?$`)
	preset       = regexp.MustCompile(`\bdeclare ((?:[^ ]+ , )*[^ ]+) .* default (.+?)(?: from .*)?$`)
	assignment   = regexp.MustCompile(`((?:[@.] )?[^ ]+) :?= (?:[^ ]+ \. )?([^ ]+)`)
)

// namesIn are the names between the commas of a list.
func namesIn(list string) []string { return strings.Fields(strings.ReplaceAll(list, ",", "")) }

// wordsOf has a blank between any two words or signs of a body, and no comments. A
// string is a quote.
func wordsOf(body string) string {
	return mycatalog.Join(sqltext.Scan(body, bodyRules), " ", func(t sqltext.Token) string {
		if t.Kind == sqltext.Text || body[t.Start] == '"' {
			return "'"
		}
		return wordOf(t.Text)
	})
}

// wordOf is one word also for a name with a blank.
func wordOf(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

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
		name := wordOf(c.Table.Name)
		k.tables[name] = true
		k.columns[wordOf(c.Name)] = true
		if c.Primary { // a variable for users.id is called user_id
			k.columns[strings.TrimSuffix(name, "s")+"_id"] = true
		}
	}
	return k
}

// mentionedBy reports whether a word is a table or a column, or one behind a prefix, as in
// p_user_id. A column id may be any table's.
func (k keyNames) mentionedBy(word string) bool {
	for name, more := word, true; more; _, name, more = strings.Cut(name, "_") {
		if k.columns[name] && name != "id" {
			return true
		}
	}
	return k.tables[word]
}
