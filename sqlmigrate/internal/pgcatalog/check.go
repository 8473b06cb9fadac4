package pgcatalog

import "context"

// A Check is a CHECK constraint of a table.
type Check struct {
	OID     int64
	Name    string
	Valid   bool
	Comment *string
}

// checksSQL asks for CHECKs of the columns, but for those that a partition has from its
// parent, and for one that a move adds, which is there until the columns are swapped.
const checksSQL = `
SELECT oid::bigint, conname, convalidated, obj_description(oid, 'pg_constraint')
FROM pg_catalog.pg_constraint
WHERE conrelid = $1::bigint::oid AND contype = 'c' AND coninhcount = 0 AND conkey && $2::text::int2[] AND conname NOT LIKE 'gormflake\_%' ORDER BY conname`

// Checks returns the CHECKs of a table that use the columns, by name.
func (q QualifiedReader) Checks(ctx context.Context, table int64, columns []int64) []Check {
	return Read[Check](ctx, q.Reader, checksSQL, table, columns)
}

// CheckClauses returns by name what makes the CHECKs of a table that are valid: the
// clause after ADD CONSTRAINT and the name.
func (q QualifiedReader) CheckClauses(ctx context.Context, table int64) map[string]string {
	return q.clauses(ctx, "SELECT conname, pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint WHERE conrelid = $1::bigint::oid AND contype = 'c'", table)
}

// clauses reads names and texts.
func (q QualifiedReader) clauses(ctx context.Context, query string, table int64) map[string]string {
	clauses := map[string]string{}
	for _, c := range Read[struct{ Name, Clause string }](ctx, q.Reader, query, table) {
		clauses[c.Name] = c.Clause
	}
	return clauses
}
