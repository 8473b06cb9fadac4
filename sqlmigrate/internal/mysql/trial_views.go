package mysql

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// A view is a view of the database. Text is its query, as the catalog has it.
type view struct {
	plan.TableName

	Text string
}

// viewQueriesSQL returns the views of the databases %s, with their queries.
const viewQueriesSQL = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA IN (%s) ORDER BY 1, 2"

var (
	// callsFunction matches the call of a function that the application has created,
	// because such a function may do more than read. In the text of a view, the server
	// writes this call as `shop`.`f`(. The expression also matches calls of built-in
	// functions that change something or wait.
	callsFunction = regexp.MustCompile("(?i)`\\(|\\b(?:nextval|setval|get_lock|release_lock|sleep|benchmark)\\(")

	// readsTable matches a table or view with its schema after FROM or JOIN, for example
	// from `shop`.`orders`.
	readsTable = regexp.MustCompile("(?i)\\b(?:from|join) *\\(*`(?:[^`]|``)+`\\.`(?:[^`]|``)+`")
)

// A viewTrial reads the views over the copies of a trial. A relation is a table or a view.
// The keys of its maps are the names of relations in the form that fullName returns, for
// example `shop`.`orders`.
type viewTrial struct {
	*trial
	server mycatalog.Server

	// tables has the tables of the trial, and the views that read such a table. The value is
	// the table or, for a view, the first by name of the tables that it reads.
	tables map[string]plan.TableName

	// copies has the full names of the copies. A relation without a copy is not in it.
	copies map[string]string

	// results has the views that read a table of the trial, with the result of reading them.
	results map[string]engine.Shown
}

// Views implements [engine.Copies]. It inserts rows with the key into the copies of the
// tables, runs the queries of the views on these copies, and returns the results.
//
// A view cannot read a temporary table. Therefore Views runs the text of the view's query,
// in which the names of the copies replace the names of the tables. This is possible
// because the servers write these names in a uniform way. Views stores the rows of the query
// in a new temporary table. If the query cuts a key, this is an error, whereas a SELECT would
// only have a warning. The new table is the copy of the view, and takes its place in the
// queries of other views that read the view.
//
// Views ignores its parameter asIs, because each table has only one copy.
func (r *trial) Views(ctx context.Context, key types.ID, _ bool) (shown []engine.Shown, err error) {
	// This query does not end with ctx, because the driver would then close the connection,
	// see trial.
	server, err := mycatalog.Open(context.WithoutCancel(ctx), r.conn)
	if err != nil {
		return nil, err
	}
	views, err := readRows[view](ctx, r, fmt.Sprintf(viewQueriesSQL, r.schemas()))
	if err != nil {
		return nil, err
	}
	g := &viewTrial{trial: r, server: server, tables: map[string]plan.TableName{}, copies: map[string]string{}, results: map[string]engine.Shown{}}
	for _, c := range r.copies {
		g.tables[g.fullName(c.TableName)] = c.TableName
		if c.createErr == nil {
			g.copies[g.fullName(c.TableName)] = g.fullName(c.name)
			r.fillCopy(ctx, c, key)
		}
	}
	// A view over views can be read only when the copies of these exist, so repeat the loop
	// while a view has got a copy.
	for again := true; again && r.err == nil; {
		again = false
		for _, v := range views {
			again = g.show(ctx, v) || again
		}
	}
	for _, v := range views {
		if result, read := g.results[g.fullName(v.TableName)]; read {
			shown = append(shown, result)
		}
	}
	return shown, r.err
}

// fillCopy replaces the rows of the copy by one row for each of the [engine.Fills]. The
// first row has values in the columns without keys, and the second NULL. All key columns
// of a row have the same key, so that views that join tables find rows. The rows have
// different keys, because otherwise the second would replace the first. If the copy
// rejects a row, the view shows fewer rows, which the trial notes.
func (r *trial) fillCopy(ctx context.Context, c *tableCopy, key types.ID) {
	_ = r.exec(ctx, "DELETE FROM "+mycatalog.QuoteTable(c.name))
	for fill := range engine.Fills {
		keys := engine.Same(plan.Table{Columns: c.keys}, key+types.ID(fill))
		_ = r.replace(ctx, c, engine.Row{Fill: fill, Keys: keys}) // an error only means fewer rows
	}
}

// fullName returns a name with its schema, even if the schema is the current database, for
// example `shop`.`orders`. The queries of views contain names in this form.
func (g *viewTrial) fullName(t plan.TableName) string {
	return mycatalog.QuoteTable(plan.TableName{Schema: cmp.Or(t.Schema, g.server.Database), Name: t.Name})
}

// show reads a view over the copies and stores the result in g.results, if the view reads
// a table of the trial. If a table or view that it reads has no copy yet, the result is
// empty. again reports whether show has learned something by which a further call, also
// for another view, may succeed.
func (g *viewTrial) show(ctx context.Context, v view) (again bool) {
	name, query := g.fullName(v.TableName), v.Text
	if g.copies[name] != "" || g.results[name].Err != nil { // an earlier call has read it, or has failed
		return false
	}
	// query gets the names of the copies.
	for relation, copyName := range g.copies {
		query = strings.ReplaceAll(query, relation, copyName)
	}
	// The tables of the trial that the view reads, directly or through other views.
	var tables []plan.TableName
	for relation, table := range g.tables {
		if strings.Contains(v.Text, relation) {
			tables = append(tables, table)
		}
	}
	if len(tables) == 0 {
		return false
	}
	again = g.tables[name].Name == "" // a view over this one is now known to read a table
	// The first by name, because the order of the map is random.
	g.tables[name] = slices.MinFunc(tables, plan.TableName.Compare)
	result := engine.Shown{Table: g.tables[name], View: g.server.Normalize(v.TableName)}
	// Run the query only if it calls no function that may change something or wait, and reads
	// no table or view without a copy.
	if !callsFunction.MatchString(query) && !slices.ContainsFunc(readsTable.FindAllString(query, -1), isOriginal) {
		target := g.newName(v.Schema)
		if result.Rows, result.Err = g.temporary(ctx, target, " AS "+query); result.Err == nil {
			g.copies[name], again = g.fullName(target), true
		} else {
			result.Fix = g.dropAndRestore(ctx, "VIEW", g.server.Normalize(v.TableName))
		}
	}
	g.results[name] = result
	return again
}

// isOriginal reports whether a match of readsTable is an original table or view, and not a
// copy, whose name begins with copyPrefix.
func isOriginal(read string) bool { return !strings.Contains(read, ".`"+copyPrefix) }

// dropAndRestore returns the end of a fix for an object that has to be dropped. kind is
// VIEW or TRIGGER. The end has the statement that drops the object and the statement that
// creates it again, for example
//
//	: DROP VIEW `v`; it was made by: CREATE VIEW `v` AS select 1
//
// If the server does not show how the object was created, the end has only the first
// statement. The query for this does not end with ctx, see trial.
func (r *trial) dropAndRestore(ctx context.Context, kind string, name plan.TableName) string {
	object := kind + " " + mycatalog.QuoteTable(name)
	names, shown, err := rows.Texts(context.WithoutCancel(ctx), r.conn, "SHOW CREATE "+object)
	if err != nil || len(shown) == 0 {
		return ": DROP " + object
	}
	// SHOW CREATE returns the text of a view and of a trigger in different columns.
	text := slices.IndexFunc(names, func(name string) bool { return name == "Create View" || name == "SQL Original Statement" })
	return ": DROP " + object + "; it was made by: " + shown[0][text].String
}
