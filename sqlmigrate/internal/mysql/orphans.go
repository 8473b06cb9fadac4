package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Rows that break a foreign key are there if they were written under
// foreign_key_checks = 0, and no server adds a foreign key back over them while
// it checks. So they are looked for before one is dropped. Those that come while
// it is away cannot keep it away: it is added back unchecked, which is done at
// once, and checks new rows while the statements of this file check the others.

// orphansFrom is the number of rows up to which a plan looks for orphans.
const orphansFrom = 200_000

// The query for orphans stands between these marks in a condition, for people
// and for explain.
const orphansBegin, orphansEnd = "NOT EXISTS (/* rows that break it: */ ", " /* until here */)"

// orphans is a query for the rows that break the foreign key: their keys and
// what they refer to.
func (in *inspection) orphans(f foreignKey) string {
	var shown, set, same []string
	for _, c := range in.tables[f.child].key() {
		shown = append(shown, "c."+quote(c.name))
	}
	for i, name := range f.columns {
		c := "c." + quote(name)
		if !slices.ContainsFunc(shown, func(s string) bool { return strings.EqualFold(s, c) }) {
			shown = append(shown, c)
		}
		set = append(set, c+" IS NOT NULL")
		same = append(same, "p."+quote(f.refers[i])+" = "+c)
	}
	return fmt.Sprintf("SELECT %s FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)", strings.Join(shown, ", "),
		quoteTable(f.child), strings.Join(set, " AND "), quoteTable(f.parent), strings.Join(same, " AND "))
}

func (in *inspection) rejectOrphans(f foreignKey, unless string) engine.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: table %s has rows whose %s is not in table %s", f.child, strings.Join(f.columns, ", "), f.parent),
		"SELECT "+unless+orphansBegin+in.orphans(f)+orphansEnd)
}

// rejectOrphansFirst is before the foreign keys are dropped. One that is away
// already has to come back first.
func (in *inspection) rejectOrphansFirst() []engine.Statement {
	var statements []engine.Statement
	for _, f := range in.dropped() {
		over := []string{"(" + hasNone(f.child, foreignKind, f.name) + ")"}
		for _, columns := range byTable(in.columnsOf(f)) {
			over = append(over, "("+columnsAre(columns, (*column).wideType)+")")
		}
		statements = append(statements, in.rejectOrphans(f, strings.Join(over, "\nOR ")+"\nOR "))
	}
	return statements
}

// verify is after they have been added back. A transaction that has deleted a
// parent before that does not know of the foreign key: the lock waits for it.
func (in *inspection) verify(keys []foreignKey) []engine.Statement {
	var statements, orphans []engine.Statement
	var parents []engine.TableName
	for _, f := range keys {
		if !slices.Contains(parents, f.parent) {
			parents = append(parents, f.parent)
			statements = append(statements, engine.Statement{SQL: "LOCK TABLES " + quoteTable(f.parent) + " READ"}, engine.Statement{SQL: "UNLOCK TABLES"})
		}
		orphans = append(orphans, in.rejectOrphans(f, ""))
	}
	return append(statements, orphans...)
}

func (in *inspection) verifyStep(keys []foreignKey) engine.Step {
	t := in.tables[keys[0].child]
	return engine.Step{
		Table: t.name.String(),
		Text:  "look for rows that broke foreign key " + strings.Join(foreignNames(keys), ", ") + " while it was away",
		Up:    in.verify(keys),
		Rows:  t.rows, Bytes: t.bytes, Estimate: in.cost(t, true) - in.cost(t, false),
		Locks: "waits for transactions that write the tables that it refers to; all that write them after it wait for that",
	}
}

// blockOrphans looks for them where that takes a moment.
func (in *inspection) blockOrphans() error {
	for _, f := range in.dropped() {
		if in.journal.has(f) || in.tables[f.child].rows > orphansFrom {
			continue
		}
		if parent := in.tables[f.parent]; parent == nil || parent.rows > orphansFrom {
			continue
		}
		query := in.orphans(f)
		found, err := describeOrphans(in.ctx, in.conn, query)
		if err != nil {
			return fmt.Errorf("sqlmigrate: table %s: look for rows that break foreign key %s: %w", f.child, f.name, err)
		}
		if found != "" {
			in.block(in.tables[f.child], "foreign key "+f.name, "rows of table "+f.child.String()+" are not in table "+f.parent.String()+", "+found+": the foreign key would not be valid when it is added back", orphansFix(query))
		}
	}
	return nil
}

func orphansFix(query string) string {
	return "correct or delete what this finds: " + query
}

// explain adds to the error of a statement which rows it has found.
func explain(ctx context.Context, conn *sql.Conn, s engine.Statement, err error) error {
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

// describeOrphans says how many rows a query finds, and one of them; nothing if
// there is none.
func describeOrphans(ctx context.Context, conn *sql.Conn, query string) (string, error) {
	example, err := exampleOf(ctx, conn, query)
	if example == "" || err != nil {
		return "", err
	}
	var n int64
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM ("+query+") orphan").Scan(&n); err != nil {
		return "", err
	}
	return engine.Count(n, "row") + ", for example " + example, nil
}

// exampleOf is the first row of a query, as column = value; empty if there is none.
func exampleOf(ctx context.Context, conn *sql.Conn, query string) (string, error) {
	rows, err := conn.QueryContext(ctx, query+" LIMIT 1")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return "", firstOf(err, rows.Err())
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return "", err
	}
	for i := range names {
		names[i] += " = " + values[i].String
	}
	return strings.Join(names, ", "), rows.Err()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
