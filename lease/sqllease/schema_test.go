package sqllease_test

import (
	"crypto/rand"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// A schema with capitals and a hyphen in its name must be quoted in SQL. At first use the
// store reads the schema's name from the catalog, and must quote that name too.
func TestSchemaInCapitals(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	schema := "Odd-" + rand.Text()
	run(t, db, `CREATE SCHEMA "`+schema+`"`)
	t.Cleanup(func() { db.Exec(`DROP SCHEMA "` + schema + `" CASCADE`) })
	store := newStore(db, sqllease.WithTable(schema+".workers"))
	swap(t, store, 1, lease.Record{}, first, true)
	if got := load(t, store)[1]; got != first {
		t.Errorf("the table holds %+v, want %+v", got, first)
	}
}
