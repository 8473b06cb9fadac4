package mysql_test

import (
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlChanged is a part of the error of a run that refuses because a table has changed.
const mysqlChanged = "has changed since it was inspected"

// mysqlAnyKey makes MySQL from 8.4 on accept foreign keys to columns without a unique
// key, as MariaDB and older versions do.
const mysqlAnyKey = "SET SESSION foreign_key_checks = 0 /*!80400 , SESSION restrict_fk_on_non_standard_key = 0 */"

// A mysqlDrift is a change of a table by somebody else after the inspection. In change,
// {T} and {AUTO} stand for the type of the column and for AUTO_INCREMENT. fit is a
// statement that the change needs first, if any.
type mysqlDrift struct{ name, table, change, fit string }

// mysqlDrifts are changes to the schema of MySQLSmall that an older plan would undo, or
// because of which its statements would fail. None of them changes the type of a column.
func mysqlDrifts() []mysqlDrift {
	return []mysqlDrift{
		{"not null, default and comment", "orders", "ALTER TABLE orders MODIFY b_id {T} NOT NULL DEFAULT 2 COMMENT 'prod'", "DELETE FROM orders WHERE b_id IS NULL"},
		{"default", "orders", "ALTER TABLE orders MODIFY a_id {T} DEFAULT 7", ""},
		{"letters of a comment", "users", "ALTER TABLE users MODIFY id {T} NOT NULL {AUTO} COMMENT 'IT''s \\\\ one'", ""},
		{"rule on delete", "orders", "ALTER TABLE orders DROP FOREIGN KEY fk_a; ALTER TABLE orders ADD CONSTRAINT fk_a FOREIGN KEY (a_id) REFERENCES users (id) ON DELETE RESTRICT", ""},
		{"rule on update", "orders", "ALTER TABLE orders DROP FOREIGN KEY fk_b; ALTER TABLE orders ADD CONSTRAINT fk_b FOREIGN KEY (b_id) REFERENCES users (id) ON UPDATE CASCADE", ""},
		{"columns of a foreign key", "orders", mysqlAnyKey + "; ALTER TABLE orders DROP FOREIGN KEY fk_b; ALTER TABLE orders ADD CONSTRAINT fk_b FOREIGN KEY (b_id) REFERENCES users (boss_id)", ""},
		{"no foreign key", "users", "ALTER TABLE users DROP FOREIGN KEY fk_boss", ""},
	}
}

// make changes the table. columnType and auto replace {T} and {AUTO}: they are the type of
// the column and its AUTO_INCREMENT, or "", at that time.
func (d mysqlDrift) make(t *testing.T, db *gorm.DB, columnType, auto string) {
	t.Helper()
	// Without foreign_key_checks = 0 the server rejects changes of the columns of a
	// foreign key.
	unchecked := migratetest.MySQLWith(t, db, mysqlUncheckedSession)
	if d.fit != "" {
		migratetest.MySQLExec(t, unchecked, d.fit)
	}
	migratetest.MySQLExec(t, unchecked, strings.NewReplacer("{T}", columnType, "{AUTO}", auto).Replace(d.change))
}

// mysqlWantChanged fails the test unless err says that the table has changed.
func mysqlWantChanged(t *testing.T, err error, table string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "table "+table+" "+mysqlChanged) {
		t.Errorf("got %v, want an error that table %s %s", err, table, mysqlChanged)
	}
}

// Somebody changes a table after the inspection. A plan and its migration files contain whole
// definitions of columns and foreign keys, so they would silently undo the change. Both must
// refuse before they change the schema.
func TestMySQLRefusesChanged(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		drifts := append(mysqlDrifts(),
			mysqlDrift{"no auto_increment", "users", "ALTER TABLE users MODIFY id {T} NOT NULL COMMENT 'it''s \\\\ one'", ""},
			mysqlDrift{"default of a key", "flags", "ALTER TABLE flags ALTER id SET DEFAULT 8", ""},
			mysqlDrift{"name of an index", "orders", "ALTER TABLE orders RENAME KEY fk_a TO ix_a", ""},
			mysqlDrift{"columns of an index", "orders", "ALTER TABLE orders DROP KEY fk_a, ADD KEY fk_a (a_id, b_id)", ""},
			mysqlDrift{"type", "orders", "ALTER TABLE orders MODIFY id mediumint unsigned NOT NULL AUTO_INCREMENT", ""})
		for _, d := range drifts {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				up, _ := mysqlScripts(t, plan, sqlmigrate.Goose)
				d.make(t, db, "int", "AUTO_INCREMENT")
				schema := migratetest.MySQLSchema(t, db)
				mysqlWantChanged(t, plan.Apply(t.Context(), db), d.table)
				migratetest.MySQLSame(t, "schema after a refused Apply", migratetest.MySQLSchema(t, db), schema)
				mysqlWantChanged(t, mysqlTool(t, db, up), d.table)
				migratetest.MySQLSame(t, "schema after a refused script", migratetest.MySQLSchema(t, db), schema)
			})
		}
	})
}

// The way back contains whole definitions too, so Revert must refuse if somebody has
// changed a table after Apply.
func TestMySQLRefusesChangedDown(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, d := range mysqlDrifts() {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				only := sqlmigrate.WithPhases(sqlmigrate.Widen)
				mysqlApply(t, db, plan, only)
				d.make(t, db, "bigint", "AUTO_INCREMENT")
				schema := migratetest.MySQLSchema(t, db)
				mysqlWantChanged(t, plan.Revert(t.Context(), db, only), d.table)
				migratetest.MySQLSame(t, "schema after a refused Revert", migratetest.MySQLSchema(t, db), schema)
			})
		}
	})
}

// Phase detach repeats the definition of a column too, so it refuses a changed column in
// both directions.
func TestMySQLRefusesChangedDetach(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		d := mysqlDrift{"comment", "users", "ALTER TABLE users MODIFY id {T} NOT NULL {AUTO} COMMENT 'prod'", ""}
		db := migratetest.MySQLSmall(t, on)
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		mysqlApply(t, db, plan, sqlmigrate.WithPhases(sqlmigrate.Widen))
		d.make(t, db, "bigint", "AUTO_INCREMENT")
		schema := migratetest.MySQLSchema(t, db)
		mysqlWantChanged(t, plan.Apply(t.Context(), db), "users")
		migratetest.MySQLSame(t, "schema after a refused Apply", migratetest.MySQLSchema(t, db), schema)

		db = migratetest.MySQLSmall(t, on)
		plan = migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		mysqlApply(t, db, plan)
		d.make(t, db, "bigint", "")
		if err := plan.Revert(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Guard)); err != nil {
			t.Fatal(err)
		}
		only := sqlmigrate.WithPhases(sqlmigrate.Detach)
		schema = migratetest.MySQLSchema(t, db)
		mysqlWantChanged(t, plan.Revert(t.Context(), db, only), "users")
		migratetest.MySQLSame(t, "schema after a refused Revert", migratetest.MySQLSchema(t, db), schema)
	})
}

// If an interrupted run has dropped a foreign key, the journal contains the foreign key. If
// the journal does not contain a missing foreign key, somebody else has dropped it. The
// phase must then refuse, and not take the existing journal, here an empty one, for the
// reason why the foreign key is missing.
func TestMySQLRefusesMissingWithJournal(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		migratetest.MySQLExec(t, db, "CREATE TABLE sqlmigrate_journal ("+
			"id char(64) NOT NULL PRIMARY KEY, kind varchar(16), table_schema varchar(64), table_name varchar(64), name varchar(64), definition mediumtext)",
			"ALTER TABLE users DROP FOREIGN KEY fk_boss")
		schema := migratetest.MySQLSchema(t, db)
		mysqlWantChanged(t, plan.Apply(t.Context(), db), "users")
		migratetest.MySQLSame(t, "schema after a refused Apply", migratetest.MySQLSchema(t, db), schema)
	})
}

// A default of a ZEROFILL column loses its leading zeros when ZEROFILL is gone. The plan
// must not take this for a change by somebody else.
func TestMySQLUnchangedZerofill(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE users (id int(5) unsigned zerofill NOT NULL AUTO_INCREMENT PRIMARY KEY)",
			"CREATE TABLE orders (user_id int(5) unsigned zerofill DEFAULT 7 COMMENT 'ünï \\\\ it''s', FOREIGN KEY (user_id) REFERENCES users (id))")
		plan := migratetest.MySQLInspect(t, db, "users")
		for range 2 {
			mysqlApply(t, db, plan)
		}
		for range 2 {
			mysqlRevert(t, db, plan)
		}
	})
}

// mysqlUncheckedSession configures a connection without checks of foreign keys, on which
// a text can have several statements.
func mysqlUncheckedSession(c *driver.Config) {
	c.MultiStatements = true
	c.Params = map[string]string{"foreign_key_checks": "0"}
}
