package mysql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/types"
)

// A view cannot read a temporary table, so its query is carried out with the names of
// copies in the place of their tables'. The result goes into a table: to a client, a
// server only warns of a key that the view cuts.

// A view has the query that the catalog has.
type view struct {
	engine.TableName

	Text  string
	reads []engine.TableName
}

const viewQueriesSQL = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA IN (DATABASE(), %s) ORDER BY 1, 2"

// errNoRows is for a view that may convert keys or not.
var errNoRows = errors.New("it shows no row")

// tryViews reads the views with today's key, and those that fail with the small one too.
func (r *trial) tryViews(ctx context.Context) {
	server, views := r.viewsOfCopies(ctx)
	if r.err != nil || len(views) == 0 {
		return
	}
	today := r.readViews(ctx, server, views)
	var small map[engine.TableName]error
	for _, err := range today {
		if err != nil && !errors.Is(err, errNoRows) && small == nil {
			r.fillAgain(ctx, r.Small)
			small = r.readViews(ctx, server, views)
		}
	}
	var untried []string
	for _, v := range views {
		err, tried := today[v.TableName]
		passes, known := small[v.TableName]
		switch {
		case tried && err == nil:
		case tried && known && passes == nil && !errors.Is(err, errNoRows):
			r.Unreadable(v.reads[0].String(), v.String(), r.Today, err)
			r.Blockers[len(r.Blockers)-1].Fix += r.dropAndRestore(ctx, "VIEW", v.TableName)
		default:
			untried = append(untried, v.String())
		}
	}
	if len(untried) > 0 {
		r.Note("No key was tried in view %s: a query over copies fails, or shows no row.", strings.Join(untried, ", "))
	}
}

// viewsOfCopies are the views that read copied tables, directly or by other views.
func (r *trial) viewsOfCopies(ctx context.Context) (mycatalog.Server, []view) {
	if r.err != nil {
		return mycatalog.Server{}, nil
	}
	server, err := mycatalog.Open(ctx, r.conn)
	if err != nil {
		r.err = err
		return server, nil
	}
	schemas, touched := []string{""}, map[engine.TableName]bool{}
	for _, c := range r.copies {
		schemas, touched[c.TableName] = append(schemas, c.Schema), true
	}
	all, err := rows.Read[struct {
		Name engine.TableName
		Text string
	}](ctx, r.conn, fmt.Sprintf(viewQueriesSQL, mycatalog.Literals(slices.Compact(schemas))))
	r.err = err
	var views []view
	for again := true; again; {
		again = false
		for _, one := range all {
			v := view{TableName: server.Normal(one.Name), Text: one.Text}
			v.reads = readBy(server, v.Text)
			if !touched[v.TableName] && slices.ContainsFunc(v.reads, func(t engine.TableName) bool { return touched[t] }) {
				touched[v.TableName], again = true, true
				views = append(views, v)
			}
		}
	}
	return server, views
}

var viewRules = sqltext.Rules{Backslash: true, Hash: true, Backticks: true}

// readBy are the tables and views that a query reads. The servers write each with its
// schema, after FROM or JOIN.
func readBy(server mycatalog.Server, query string) (found []engine.TableName) {
	tokens := sqltext.Scan(query, viewRules)
	for i, t := range tokens {
		if t.Kind != sqltext.Word || !slices.Contains([]string{"from", "join", "straight_join"}, strings.ToLower(t.Text)) {
			continue
		}
		for i++; i < len(tokens) && tokens[i].Text == "("; {
			i++
		}
		if name, ok := tableAt(tokens, i); ok {
			found = append(found, server.Normal(name))
		}
	}
	return found
}

// tableAt is the name that begins at a token, with its schema.
func tableAt(tokens []sqltext.Token, i int) (engine.TableName, bool) {
	if i+2 >= len(tokens) || tokens[i].Kind != sqltext.Name || tokens[i+1].Text != "." || tokens[i+2].Kind != sqltext.Name {
		return engine.TableName{}, false
	}
	return engine.TableName{Schema: tokens[i].Text, Name: tokens[i+2].Text}, true
}

// readViews returns the answer to each query whose tables have copies, also those over
// other views. A function of the application may do more than read.
func (r *trial) readViews(ctx context.Context, server mycatalog.Server, views []view) map[engine.TableName]error {
	copies, answers := map[engine.TableName]engine.TableName{}, map[engine.TableName]error{}
	for _, c := range r.copies {
		copies[c.TableName] = c.name
	}
	for again := true; again; {
		again = false
		for _, v := range views {
			_, tried := answers[v.TableName]
			copied := !slices.ContainsFunc(v.reads, func(t engine.TableName) bool { return copies[t].Name == "" })
			if tried || !copied || callsFunction.MatchString(v.Text) {
				continue
			}
			name := r.newName(v.Schema)
			n, err := r.temporary(ctx, name, " AS "+over(server, v.Text, copies))
			if err == nil {
				copies[v.TableName] = name
			}
			if err == nil && n == 0 {
				err = errNoRows
			}
			answers[v.TableName], again = err, true
		}
	}
	return answers
}

// callsFunction is for a function that is not the server's, and for those of the
// server's that change or wait for something.
var callsFunction = regexp.MustCompile("(?i)`\\(|\\b(?:nextval|setval|get_lock|release_lock|sleep|benchmark)\\(")

// over is the query with the names of copies.
func over(server mycatalog.Server, query string, copies map[engine.TableName]engine.TableName) string {
	var text strings.Builder
	end, tokens := 0, sqltext.Scan(query, viewRules)
	for i := range tokens {
		name, ok := tableAt(tokens, i)
		if c := copies[server.Normal(name)]; ok && c.Name != "" {
			text.WriteString(query[end:tokens[i+2].Start] + mycatalog.Quote(c.Name))
			end = tokens[i+2].End
		}
	}
	return text.String() + query[end:]
}

// fillAgain leaves one row in each copy that takes one with the key.
func (r *trial) fillAgain(ctx context.Context, key types.ID) {
	for _, c := range r.copies {
		if r.exec(ctx, "DELETE FROM "+mycatalog.QuoteTable(c.name)) != nil {
			return
		}
		for _, fill := range []filler{filled, whereUnchecked, empty} {
			if r.replace(ctx, c, c.row(fill, func(int) types.ID { return key })) == nil {
				break
			}
		}
	}
}
