package postgres_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A foreign key is added after Inspect, so the plan does not contain its column, which would
// stay narrow. Apply must find this column and take phase widen back. A new plan contains the
// column.
func TestPostgresLateReference(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	pgExecAll(t, db,
		"CREATE TABLE parents (id serial PRIMARY KEY)",
		"CREATE TABLE known (id bigserial PRIMARY KEY, parent_id int REFERENCES parents)")
	plan, err := sqlmigrate.Inspect(t.Context(), db, "parents")
	if err != nil {
		t.Fatal(err)
	}
	pgExecAll(t, db, "CREATE TABLE late (id bigserial PRIMARY KEY, parent_id int REFERENCES parents)")
	migratetest.WantError(t, plan.Apply(t.Context(), db), "a foreign key that the plan does not know refers to column id of table parents")
	var typ string
	if err := db.Raw("SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'parents'::regclass AND attname = 'id'").Scan(&typ).Error; err != nil || typ != "integer" {
		t.Errorf("parents.id is %s, %v, want it as it was", typ, err)
	}
	if plan, err = sqlmigrate.Inspect(t.Context(), db, "parents"); err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// pgExecAll executes statements one by one.
func pgExecAll(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
