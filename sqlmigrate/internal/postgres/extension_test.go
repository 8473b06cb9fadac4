package postgres_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A move works in a database with extensions. An extension such as intarray defines operators
// on arrays. If a query of the move used an operator without its schema, the operator would be
// ambiguous and the query would fail.
func TestPostgresExtensions(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	var names []string
	err := db.Raw("SELECT name FROM pg_available_extensions WHERE name IN ('intarray', 'ltree', 'hstore', 'cube', 'seg', 'isn', 'citext', 'btree_gist', 'bloom', 'pg_trgm') ORDER BY 1").Scan(&names).Error
	if err != nil || len(names) == 0 {
		t.Skip("no extension of these is installed: ", err)
	}
	for _, name := range names {
		if err := db.Exec("CREATE EXTENSION IF NOT EXISTS " + name).Error; err != nil {
			t.Skip(err) // the role may not create extensions
		}
	}
	migratetest.Run(t, db, "CREATE TABLE o (id serial PRIMARY KEY, n int CHECK (n > 0))", "CREATE INDEX ON o (n)",
		"CREATE FUNCTION f(o) RETURNS integer LANGUAGE sql AS 'SELECT $1.id'")
	plan := migratetest.MustInspect(t, db, "o")
	online, err := plan.Online(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if err := online.Apply(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := plan.Only("detach", "guard").Apply(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}
