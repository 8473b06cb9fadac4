package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Rows that break a foreign key exist if they were written under foreign_key_checks = 0,
// and no server adds a foreign key back over them while it checks. So a plan looks for
// them before it drops one. Those that are written while it is dropped cannot prevent
// it: it is added back unchecked, which is done at once, and checks new rows while the
// statements of this file check the others.

// orphansFrom is the number of rows up to which a plan looks for orphans.
const orphansFrom = 200_000

// The query for orphans stands between these marks in a condition, for people
// and for explain.
const orphansBegin, orphansEnd = "NOT EXISTS (/* rows that break it: */ ", " /* until here */)"

func rejectOrphans(g *graph, f mycatalog.ForeignKey, unless string) plan.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: table %s has rows whose %s is not in table %s", f.Child, strings.Join(f.Columns, ", "), f.Parent),
		"SELECT "+unless+orphansBegin+g.Tables[f.Child].Orphans(f)+orphansEnd)
}

// rejectOrphansFirst comes before the foreign keys are dropped. It lets pass what an
// earlier run has done: a foreign key that is absent, which is added back before anything
// else can be said of its rows, and columns that have their new types.
func rejectOrphansFirst(g *graph) []plan.Statement {
	var statements []plan.Statement
	for _, f := range g.allDropped() {
		unless := "(" + mycatalog.HasNone(f.Child, mycatalog.ForeignKind, f.Name) + ")\nOR " +
			mycatalog.Join(byTable(g.changed(f)), "", func(columns []*column) string { return "(" + columnsAre(columns, (*column).to) + ")\nOR " })
		statements = append(statements, rejectOrphans(g, f, unless))
	}
	return statements
}

// verify is after they have been added back. A transaction that has deleted a parent
// before that does not know of the foreign key: the lock waits for it.
func verify(g *graph, keys []mycatalog.ForeignKey) []plan.Statement {
	var statements, orphans []plan.Statement
	var parents []plan.TableName
	for _, f := range keys {
		if !slices.Contains(parents, f.Parent) {
			parents = append(parents, f.Parent)
			statements = append(statements, plan.Statement{SQL: "LOCK TABLES " + mycatalog.QuoteTable(f.Parent) + " READ"}, plan.Statement{SQL: "UNLOCK TABLES"})
		}
		orphans = append(orphans, rejectOrphans(g, f, ""))
	}
	return append(statements, orphans...)
}

func verifyStep(g *graph, keys []mycatalog.ForeignKey) plan.Step {
	t := g.Tables[keys[0].Child]
	return plan.Step{
		Table: t.TableName,
		Text:  "look for rows that broke foreign key " + strings.Join(foreignNames(keys), ", ") + " while it was away",
		Up:    verify(g, keys),
		Rows:  t.Rows, Bytes: t.Bytes, Estimate: lookupTime(t, g.MariaDB),
		Locks: "waits for transactions that write the tables that it refers to; all that write them after it wait for that",
	}
}

// blockOrphans looks for them where that takes a moment.
func blockOrphans(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	for _, f := range g.allDropped() {
		child, parent := g.Tables[f.Child], g.Tables[f.Parent]
		if g.Journal.Has(f) || child.Rows > orphansFrom || parent == nil || parent.Rows > orphansFrom {
			continue
		}
		query := child.Orphans(f)
		orphans, err := describeOrphans(ctx, conn, query)
		if err != nil {
			return found, fmt.Errorf("sqlmigrate: table %s: look for rows that break foreign key %s: %w", f.Child, f.Name, err)
		}
		if orphans != "" {
			found.Block(child.TableName, "foreign key "+f.Name, "rows of table "+f.Child.String()+" are not in table "+f.Parent.String()+", "+orphans+": the foreign key would not be valid when it is added back", orphansFix(query))
		}
	}
	return found, nil
}

func orphansFix(query string) string {
	return "correct or delete what this finds: " + query
}

// explain adds to the error of a statement which rows it has found.
func explain(ctx context.Context, conn *sql.Conn, s plan.Statement, err error) error {
	_, query, ok := strings.Cut(s.Unless, orphansBegin)
	if !ok {
		return err
	}
	query, _, _ = strings.Cut(query, orphansEnd)
	found, failed := describeOrphans(ctx, conn, query)
	if failed != nil || found == "" {
		return err
	}
	return fmt.Errorf("%w: %s; %s, and run the same again", err, found, orphansFix(query))
}

// describeOrphans is how many rows a query finds, and one of them, as column = value;
// empty if there is none.
func describeOrphans(ctx context.Context, conn *sql.Conn, query string) (string, error) {
	names, found, err := rows.Texts(ctx, conn, query+" LIMIT 1")
	if err != nil || len(found) == 0 {
		return "", err
	}
	for i, value := range found[0] {
		names[i] += " = " + value.String
	}
	var n int64
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM ("+query+") orphan").Scan(&n); err != nil {
		return "", err
	}
	return engine.Count(n, "row") + ", for example " + strings.Join(names, ", "), nil
}
