package pgonline

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgview"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Views, policies, some triggers and statistics refer to a column by its number. The swap
// drops these objects and creates them again from their text, so that they refer to the new
// column, which has got the name of the old column. If another session has changed an object
// since the plan read the text, the swap would lose the change. So the swap compares a hash of
// the objects with the hash in the plan, and fails if they differ.

// recreate returns the statements that drop the objects which refer to columns by number,
// such as views and policies, and the statements that create them again after the columns
// have been renamed. It drops a policy only once, although a policy can use several tables.
func (g *graph) recreate() (drops, creates []string) {
	drops = pgview.Drops(g.views, "") // without IF EXISTS
	for _, t := range g.families() {
		for _, u := range t.uses {
			if u.Recreated() && !slices.Contains(drops, u.Drop) {
				drops, creates = append(drops, u.Drop), append(creates, u.Create...)
			}
		}
	}
	return drops, append(creates, pgview.CreateAll(g.views)...)
}

// stateSQL returns an SQL expression for a hash of the definitions of all objects that the
// swap drops and creates again. The hash differs after a user has changed such an object.
// stateSQL returns "" if there are none.
func (g *graph) stateSQL() string {
	var hashes []string
	add := func(query string) {
		hashes = append(hashes, "(SELECT md5(coalesce(string_agg(state::text, ';' ORDER BY state::text), '')) FROM (\n"+query+") AS state)")
	}
	for _, t := range g.families() {
		if slices.ContainsFunc(t.uses, pgcatalog.Use.Recreated) {
			add(pgcatalog.RecreatedQuery(t.Relation, t.nameLiterals()))
		}
	}
	if len(g.views) > 0 {
		add(pgview.StateQuery(g.views))
	}
	slices.Sort(hashes) // because the order of the tables in g changes while the plan is made
	return strings.Join(hashes, " || ")
}

// nameLiterals returns the names of the columns to widen as literals for an IN list, for
// example 'id', 'user_id'.
func (t *table) nameLiterals() string {
	return pgsql.Join(t.columns, ", ", func(c *column) string { return pgsql.Literal(c.Name) })
}

// emptyPath is the statement that sets an empty search path for the transaction, under
// which the server writes the names of objects with their schemas. The plan has read the
// definitions of objects under an empty search path, so the swap must read them under an
// empty search path too, to compare them.
const emptyPath = "SET LOCAL search_path = ''"

// checkUnchanged returns a statement that fails if the present hash of the objects that the
// swap creates again (stateSQL) differs from state, an SQL expression for an earlier hash.
// It returns nil if there are no such objects. The statement computes the hash with an
// empty search path, and then restores the path, because the functions of CHECKs may need
// the path.
func (g *graph) checkUnchanged(state string) []string {
	if g.state == "" {
		return nil
	}
	return []string{pgsql.Do("DECLARE path text := current_setting('search_path'); -- that the functions of CHECKs may want\n",
		"  PERFORM pg_catalog.set_config('search_path', '', true);\n  IF "+g.stateSQL()+" IS DISTINCT FROM "+state+` THEN
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = 'sqlmigrate: a view, policy, trigger or statistics object of the columns has been changed, which would be lost: drop it, and create it again after the move';
  END IF;
  PERFORM pg_catalog.set_config('search_path', path, true);
`)}
}

// storedState returns an SQL expression for the hash that storeState has stored in the
// journal at the end of the swap.
func (g *graph) storedState() string { return "(SELECT made FROM " + g.inJournal("") + ")" }

// storeState returns the statement that stores the hash of the objects that the swap has
// created again. By this hash the way back notices a later change of such an object.
// storeState returns nil if there are no such objects.
func (g *graph) storeState() []string {
	if g.state == "" {
		return nil
	}
	return []string{"UPDATE " + g.inJournal(" SET made = "+g.stateSQL())}
}

// inJournal returns the end of a statement on the row of this move in the journal. The end
// has the name of the journal, clause and the condition, for example
// "public"."sqlmigrate_online" SET made = … WHERE id = 'public.orders'. The ID of a move is
// the name of its first table.
func (g *graph) inJournal(clause string) string {
	id := plan.TableName{Schema: g.tables[0].Schema, Name: g.tables[0].Name}
	return journal(id.Schema) + clause + " WHERE id = " + pgsql.Literal(id.String())
}

// copyName is the name of the temporary copy of a table.
const copyName = "gormflake_copy"

// readDefinitions fills freshDefinitions and oldDefinitions, which are the definitions of
// the CHECKs and indexes of t with other names of the columns. To replace the names
// correctly, it creates an empty temporary copy of the table, renames the columns of the
// copy, and lets the server write the definitions. The transaction is rolled back. If the
// server reports an error, for example because a function in a CHECK does not accept a
// bigint, readDefinitions stores it in refusal, from which blockers makes a blocker.
func (t *table) readDefinitions(ctx context.Context, conn *sql.Conn) error {
	if len(t.checks) == 0 && len(t.indexes) == 0 {
		return nil
	}
	q, err := pgcatalog.Scratch(ctx, conn, inspecting)
	if err != nil {
		return err
	}
	defer q.Close()
	t.readFromCopy(ctx, q)
	if pgsql.State(q.Err()) != "" { // an error of the server
		t.refusal = errors.Unwrap(q.Err()) // without the beginning that q has added
		return nil
	}
	return q.Err()
}

// readFromCopy creates an empty copy of the table, and reads the server's definitions of
// its CHECKs and indexes twice. The first time, the columns have the names that the old
// columns have after the swap, and their present types. The second time, they have the
// names of the new columns before the swap, and the type bigint. It waits for a lock of the
// table for at most five seconds. q is in a transaction that is rolled back, and keeps the
// first error.
func (t *table) readFromCopy(ctx context.Context, q pgcatalog.QualifiedReader) {
	copied := *t
	copied.Relation = &pgcatalog.Relation{Named: pgcatalog.Named{Schema: "pg_temp", Name: copyName}}
	q.Exec(ctx, "SET LOCAL lock_timeout = '5s'")
	q.Exec(ctx, "CREATE TEMP TABLE "+copyName+" (LIKE "+t.Target()+" INCLUDING CONSTRAINTS)")
	// Create the indexes one by one, because LIKE … INCLUDING INDEXES would give them other
	// names.
	ownDefinitions := definitions{indexes: q.IndexClauses(ctx, t.OID)}
	for _, i := range t.indexes {
		q.Exec(ctx, i.create("", &copied, i.Name, ownDefinitions))
	}
	oid := pgcatalog.One[int64](ctx, q.Reader, "the copy of table "+t.Name, "SELECT "+pgsql.Literal(copied.Target())+"::regclass::oid::bigint")
	copied.renameAll(ctx, q, current, old)
	t.oldDefinitions = definitions{q.CheckClauses(ctx, oid), q.IndexClauses(ctx, oid)}
	q.Exec(ctx, copied.alter(copied.columns, "ALTER COLUMN %s TYPE bigint", old))
	copied.renameAll(ctx, q, old, fresh)
	t.freshDefinitions = definitions{q.CheckClauses(ctx, oid), q.IndexClauses(ctx, oid)}
}

// renameAll renames each column to widen from one of its names to another. It does so in
// the transaction of q, which is rolled back later. q keeps the first error.
func (t *table) renameAll(ctx context.Context, q pgcatalog.QualifiedReader, from, to naming) {
	for _, c := range t.columns {
		q.Exec(ctx, t.rename(from(c), to(c)))
	}
}
