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

// A view is a view of the database. Text is its query in the catalog.
type view struct {
	plan.TableName

	Text string
}

// viewQueriesSQL returns the views of databases, with their queries.
const viewQueriesSQL = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA IN (%s) ORDER BY 1, 2"

var (
	// callsFunction matches a call of a function that the application has created,
	// because it may do more than read, and calls of built-in functions that change
	// something or wait.
	callsFunction = regexp.MustCompile("(?i)`\\(|\\b(?:nextval|setval|get_lock|release_lock|sleep|benchmark)\\(")

	// readsTable matches a table or view with its schema after FROM or JOIN.
	readsTable = regexp.MustCompile("(?i)\\b(?:from|join) *\\(*`(?:[^`]|``)+`\\.`(?:[^`]|``)+`")
)

// A viewTrial reads the views of a trial. Its maps have the names of tables and views,
// also called relations, in the form that fullName returns.
type viewTrial struct {
	*trial
	server  mycatalog.Server
	tables  map[string]plan.TableName // the table of the trial that a relation is or reads
	copies  map[string]string         // the copy of a relation
	results map[string]engine.Shown   // the results of views
}

// Views implements [engine.Copies]. It ignores asIs, because each table has only one
// copy. A view cannot read a temporary table. Therefore Views runs the query of the view
// with the names of the copies in place of the names of the tables, which the servers
// write in a uniform way. It stores the result in a table, which is then the copy of the
// view, because a key that the view cuts is an error there. When a client reads the
// result, the server only warns.
func (r *trial) Views(ctx context.Context, key types.ID, _ bool) (shown []engine.Shown, err error) {
	server, err := mycatalog.Open(context.WithoutCancel(ctx), r.conn)
	if err != nil {
		return nil, err
	}
	views, err := rows.Read[view](context.WithoutCancel(ctx), r.conn, fmt.Sprintf(viewQueriesSQL, r.schemas()))
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
	// A view over views becomes readable when copies of these exist.
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

// fillCopy replaces the rows of the copy by one row for each of the [engine.Fills], which
// fill the columns without keys with values, or with NULL. All key columns of a row have
// the same key, so that views that join tables find rows. The rows have different keys,
// because otherwise one would replace the other. If the copy rejects a row, the view shows
// fewer rows, which the trial notes.
func (r *trial) fillCopy(ctx context.Context, c *tableCopy, key types.ID) {
	_ = r.exec(ctx, "DELETE FROM "+mycatalog.QuoteTable(c.name))
	for fill := range engine.Fills {
		_ = r.replace(ctx, c, engine.Row{Fill: fill, Keys: engine.Same(plan.Table{Columns: c.keys}, key+types.ID(fill))}) // without a row, the view shows none, which the trial notes
	}
}

// fullName returns a name in the form in which queries contain it.
func (g *viewTrial) fullName(t plan.TableName) string {
	return mycatalog.QuoteTable(plan.TableName{Schema: cmp.Or(t.Schema, g.server.Database), Name: t.Name})
}

// show reads a view, if copies of all tables and views exist that it reads, and stores
// the result. It reports whether a further call for other views may have another result.
func (g *viewTrial) show(ctx context.Context, v view) (again bool) {
	name, query := g.fullName(v.TableName), v.Text
	if g.copies[name] != "" || g.results[name].Err != nil { // an earlier call has read it
		return false
	}
	for relation, copyName := range g.copies {
		query = strings.ReplaceAll(query, relation, copyName)
	}
	// tables are the tables of the trial that the view reads.
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
	g.tables[name] = slices.MinFunc(tables, plan.TableName.Compare)
	result := engine.Shown{Table: g.tables[name], View: g.server.Normalize(v.TableName)}
	// The query must call no function that may change something or wait, and must read no
	// table or view without a copy.
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

// isOriginal reports whether a match of readsTable is an original table or view, and not
// a copy.
func isOriginal(read string) bool { return !strings.Contains(read, ".`"+copyPrefix) }

// dropAndRestore returns the statement that drops an object and the statement that
// creates it again, in words that end a fix.
func (r *trial) dropAndRestore(ctx context.Context, kind string, name plan.TableName) string {
	object := kind + " " + mycatalog.QuoteTable(name)
	names, shown, err := rows.Texts(context.WithoutCancel(ctx), r.conn, "SHOW CREATE "+object)
	if err != nil || len(shown) == 0 {
		return ": DROP " + object
	}
	text := slices.IndexFunc(names, func(name string) bool { return name == "Create View" || name == "SQL Original Statement" })
	return ": DROP " + object + "; it was made by: " + shown[0][text].String
}
