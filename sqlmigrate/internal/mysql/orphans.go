package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An orphan is a row that violates a foreign key, for example because it was written with
// foreign_key_checks = 0. Phase widen drops foreign keys and adds them back. A plan looks
// for orphans before it drops a foreign key. Rows that become orphans while the foreign key
// is dropped do not prevent the phase from adding the foreign key back, because the server
// then does not check the existing rows. Without this check, the statement takes only a
// moment. From then on the server checks new rows, and the statements of this file check
// the existing rows.

// maxSearchedRows is the largest number of rows of a table in which an inspection looks
// for orphans. A search in more rows would take too long for an inspection, so the phase
// itself finds the orphans, before it drops the foreign key.
const maxSearchedRows = 200_000

// The Unless query of a statement of rejectOrphans has the query for orphans between these
// marks. The comments in the marks help people to find the query in a migration file.
// explainOrphans also finds the query by the marks.
const orphansBegin, orphansEnd = "NOT EXISTS (/* rows that break it: */ ", " /* until here */)"

// rejectOrphans returns a statement that fails if the foreign key has orphans. unless is
// an SQL condition under which the statement does not fail, followed by OR. It is empty if
// there is no such condition.
func rejectOrphans(g *graph, f mycatalog.ForeignKey, unless string) plan.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: table %s has rows whose %s is not in table %s", f.Child, strings.Join(f.Columns, ", "), f.Parent),
		"SELECT "+unless+orphansBegin+g.Tables[f.Child].Orphans(f)+orphansEnd)
}

// rejectOrphansFirst returns statements that fail if there are orphans before phase widen
// drops foreign keys. When the phase resumes after an interruption, the statements must not
// fail, because the phase must add back the foreign keys that it has dropped before it reports
// orphans. So the statement for a foreign key does not fail if the foreign key does not exist,
// or if its columns in one of the tables have their new types already.
func rejectOrphansFirst(g *graph) []plan.Statement {
	var statements []plan.Statement
	for _, f := range g.allDropped() {
		// True if the foreign key does not exist, or if the columns on one side have their new types.
		unless := "(" + mycatalog.HasNone(f.Child, mycatalog.ForeignKind, f.Name) + ")\nOR " +
			mycatalog.Join(byTable(g.changedColumns(f)), "", func(columns []*column) string { return "(" + columnsAre(columns, (*column).to) + ")\nOR " })
		statements = append(statements, rejectOrphans(g, f, unless))
	}
	return statements
}

// verifyRows returns statements that look for orphans after the foreign keys have been
// added back. A transaction may have deleted a parent without a check while the foreign key
// was dropped, and may still be open. Therefore the statements first lock each parent table
// for a moment, because LOCK TABLES waits for the end of such a transaction.
func verifyRows(g *graph, keys []mycatalog.ForeignKey) []plan.Statement {
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

// verifyStep returns the step that looks for orphans after the foreign keys of a table
// have been added back. It has no way back of its own, because it changes nothing.
func verifyStep(g *graph, keys []mycatalog.ForeignKey) plan.Step {
	t := g.Tables[keys[0].Child]
	return plan.Step{
		Table: t.TableName,
		Text:  "look for rows that broke foreign key " + strings.Join(foreignNames(keys), ", ") + " while it was away",
		Up:    verifyRows(g, keys),
		Rows:  t.Rows, Bytes: t.Bytes, Estimate: lookupTime(t, g.MariaDB),
		Locks: "waits for transactions that write the tables that it refers to; all that write them after it wait for that",
	}
}

// lookupTime estimates how long an idle server needs to look up each row of t in another
// table, for the estimate of a step. The times for a row are those of the machine that
// docs/measurements.md names.
func lookupTime(t *mycatalog.Table, mariadb bool) time.Duration {
	if mariadb {
		return time.Duration(t.Rows) * 2500 * time.Nanosecond
	}
	return time.Duration(t.Rows) * 3 * time.Microsecond
}

// blockOrphans returns a blocker for each foreign key that has orphans. It leaves out a
// foreign key from or to a table of more than maxSearchedRows rows, because the search takes
// long. It also leaves out foreign keys that an unfinished run may have dropped, because the
// plan must add these back in any case.
func blockOrphans(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	for _, f := range g.allDropped() {
		// parent may be nil only for a foreign key of the journal.
		child, parent := g.Tables[f.Child], g.Tables[f.Parent]
		if g.Journal.Has(f) || child.Rows > maxSearchedRows || parent == nil || parent.Rows > maxSearchedRows {
			continue
		}
		query := child.Orphans(f)
		orphans, err := engine.DescribeRows(ctx, conn, query)
		if err != nil {
			return found, fmt.Errorf("sqlmigrate: table %s: look for rows that break foreign key %s: %w", f.Child, f.Name, err)
		}
		if orphans != "" {
			found.Block(child.TableName, "foreign key "+f.Name, "rows of table "+f.Child.String()+" are not in table "+f.Parent.String()+", "+orphans+": the foreign key would not be valid when it is added back", orphansFix(query))
		}
	}
	return found, nil
}

// orphansFix returns the advice for orphans, which contains the query that finds them.
func orphansFix(query string) string {
	return "correct or delete what this finds: " + query
}

// explainOrphans returns err, the error of statement s. If s is a statement of
// rejectOrphans, it adds the number of orphans, an example, and the query that finds them.
func explainOrphans(ctx context.Context, conn *sql.Conn, s plan.Statement, err error) error {
	_, query, ok := strings.Cut(s.Unless, orphansBegin)
	if !ok { // another statement
		return err
	}
	query, _, _ = strings.Cut(query, orphansEnd)
	found, describeErr := engine.DescribeRows(ctx, conn, query)
	if describeErr != nil || found == "" { // the orphans may be gone by now
		return err
	}
	return fmt.Errorf("%w: %s; %s, and run the same again", err, found, orphansFix(query))
}
