package pgonline

import (
	"context"
	"database/sql"
	"errors"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// clauses are what makes CHECKs and indexes, by name.
type clauses struct{ checks, indexes map[string]string }

const copyName = "gormflake_copy"

// rewrite finds how the server writes CHECKs and indexes with the other names and types
// of the columns. It has the server rename the columns of a copy without rows, which is
// rolled back. What the server refuses is for blockers.
func (t *table) rewrite(ctx context.Context, conn *sql.Conn) error {
	if len(t.checks) == 0 && len(t.indexes) == 0 {
		return nil
	}
	q, err := pgcatalog.Scratch(ctx, conn, inspecting)
	if err != nil {
		return err
	}
	defer q.Close()
	t.readCopy(ctx, q)
	if pgsql.State(q.Err()) != "" {
		t.refused = errors.Unwrap(q.Err())
		return nil
	}
	return q.Err()
}

func (t *table) readCopy(ctx context.Context, q pgcatalog.QualifiedReader) {
	made := *t
	made.Relation = &pgcatalog.Relation{Named: pgcatalog.Named{Schema: "pg_temp", Name: copyName}}
	q.Exec(ctx, "SET LOCAL lock_timeout = '5s'")
	q.Exec(ctx, "CREATE TEMP TABLE "+copyName+" (LIKE "+t.Target()+" INCLUDING CONSTRAINTS)")
	own := clauses{indexes: q.IndexClauses(ctx, t.OID)}
	for _, i := range t.indexes {
		q.Exec(ctx, i.create("", &made, i.Name, own))
	}
	oid := pgcatalog.One[int64](ctx, q.Reader, "the copy of table "+t.Name, "SELECT "+pgsql.Literal(made.Target())+"::regclass::oid::bigint")
	made.renameAll(ctx, q, current, old)
	t.oldClauses = clauses{q.CheckClauses(ctx, oid), q.IndexClauses(ctx, oid)}
	q.Exec(ctx, made.alter(made.columns, "ALTER COLUMN %s TYPE bigint", old))
	made.renameAll(ctx, q, old, fresh)
	t.freshClauses = clauses{q.CheckClauses(ctx, oid), q.IndexClauses(ctx, oid)}
}

func (t *table) renameAll(ctx context.Context, q pgcatalog.QualifiedReader, from, to naming) {
	for _, c := range t.columns {
		q.Exec(ctx, t.rename(from(c), to(c)))
	}
}
