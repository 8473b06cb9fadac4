package mysql_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlOrphans inserts rows that violate the two foreign keys of orders: rows 77 and 78
// have no parent for fk_a, and row 79 has none for fk_b.
func mysqlOrphans(t *testing.T, db *gorm.DB) {
	t.Helper()
	conn, err := migratetest.MySQLPool(t, db).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range []string{
		"SET foreign_key_checks = 0", "INSERT INTO orders (id, a_id) VALUES (77, 99), (78, 98)", "INSERT INTO orders (id, b_id) VALUES (79, 97)",
		"SET foreign_key_checks = 1",
	} {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// mysqlFind executes the query for orphans that a message contains, and checks its
// result.
func mysqlFind(t *testing.T, db *gorm.DB, text string, want ...string) {
	t.Helper()
	_, query, ok := strings.Cut(text, "finds: ")
	if !ok {
		t.Fatalf("%q has no query for the rows", text)
	}
	query, _, _ = strings.Cut(query, ", and run the same")
	if got := migratetest.MySQLStrings(t, db, query+" ORDER BY 1"); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: rows %q, want %q", query, got, want)
	}
}

// Orphans, which are rows that violate a foreign key, block a plan, because the foreign key
// would not be valid after the plan has added it back. The blocker has a query that finds the
// orphans.
func TestMySQLOrphansBlock(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLSmall(t, on)
		mysqlOrphans(t, db)
		plan := migratetest.MustInspect(t, db, migratetest.MySQLSmallTargets()...)
		if len(plan.Blockers) != 2 {
			t.Fatalf("blockers = %+v, want one for each foreign key of orders", plan.Blockers)
		}
		b := plan.Blockers[1] // the first is about fk_b
		if b.Object != "foreign key fk_a" || b.Table.String() != "orders" || !strings.Contains(b.Reason, "2 rows, for example id = 7") {
			t.Errorf("blocker %+v, want foreign key fk_a, how many rows and one of them", b)
		}
		mysqlFind(t, db, b.Fix, "77", "78")
	})
}

// Rows that violate a foreign key are inserted after the inspection, so the plan has no
// blocker for them. Apply must find them before it changes the database, and its error must
// have a query for them. After they are deleted, the same plan completes the move.
func TestMySQLOrphansRejectedFirst(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		_, schema, data := mysqlMoved(t, on)
		db := migratetest.MySQLSmall(t, on)
		plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
		mysqlOrphans(t, db)
		before := migratetest.MySQLSchema(t, db)
		// Foreign key fk_b is checked first, and only row 79 violates it.
		err := plan.Apply(t.Context(), db)
		migratetest.WantError(t, err, "refused", "table orders", "b_id", "1 row, for example id = 79, b_id = 97")
		mysqlFind(t, db, err.Error(), "79")
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
		migratetest.MySQLExec(t, db, "DELETE FROM orders WHERE id >= 77")
		mysqlApply(t, db, plan)
		migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
		migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
	})
}

// If a row violates a foreign key while the move has dropped the constraint, Apply
// reports the row. It adds the constraint back all the same, so that the database rejects
// further orphans. A later run completes the move when the row is gone.
func TestMySQLOrphansWhileAway(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		_, schema, data := mysqlMoved(t, on)
		for _, again := range []string{"same plan", "new plan"} {
			t.Run(again, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				keys := mysqlForeignKeys(t, db)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				err := plan.Apply(t.Context(), db, mysqlOnce("ADD CONSTRAINT", func() { mysqlOrphans(t, db) }))
				migratetest.WantError(t, err, "refused", "table orders", "b_id", "1 row, for example id = 79, b_id = 97")
				mysqlFind(t, db, err.Error(), "79")
				if got := mysqlForeignKeys(t, db); strings.Join(got, " ") != strings.Join(keys, " ") {
					t.Errorf("foreign keys = %q, want all of %q", got, keys)
				}
				if err := migratetest.MySQLTry(t, db, "INSERT INTO orders (a_id) VALUES (96)"); err == nil || !strings.Contains(err.Error(), "1452") {
					t.Errorf("another orphan: %v, want error 1452", err)
				}
				migratetest.MySQLExec(t, db, "DELETE FROM orders WHERE id >= 77")
				if again == "new plan" {
					plan = migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
					if notes := strings.Join(plan.Notes, "\n"); !strings.Contains(notes, "stopped half-way") {
						t.Errorf("notes = %s, want one of the run that has stopped", notes)
					}
				}
				mysqlApply(t, db, plan)
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), schema)
				migratetest.MySQLSame(t, "data", mysqlData(t, db), data)
			})
		}
	})
}

// mysqlOnce returns an option with which a run calls do once, before the first statement
// that contains text.
func mysqlOnce(text string, do func()) sqlmigrate.ApplyOption {
	done := false
	return sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
		if !done && strings.Contains(p.SQL, text) {
			done = true
			do()
		}
	})
}

// Revert restores the whole schema even if orphans were inserted while it ran, and then
// reports them.
func TestMySQLRevertEndsWithOrphans(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		for _, when := range []string{"DROP FOREIGN KEY", "ADD CONSTRAINT"} {
			t.Run("before "+when, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				before := migratetest.MySQLSchema(t, db)
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				mysqlApply(t, db, plan)
				err := plan.Revert(t.Context(), db, mysqlOnce(when, func() { mysqlOrphans(t, db) }))
				migratetest.WantError(t, err, "refused", "table orders", "1 row, for example id = 79, b_id = 97")
				got := migratetest.MySQLSchema(t, db)
				delete(got, "sqlmigrate_journal")
				migratetest.MySQLSame(t, "schema", got, before)
				migratetest.MySQLExec(t, db, "DELETE FROM orders WHERE id >= 77")
				mysqlRevert(t, db, plan)
				migratetest.MySQLSame(t, "schema", migratetest.MySQLSchema(t, db), before)
			})
		}
	})
}

// A transaction that began before the foreign key was added back may delete a parent
// without a check, and commit later. Apply waits for the transaction before it looks for
// orphans.
func TestMySQLOrphanOfOpenTransaction(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := mysqlDeleted(t, on)
		migratetest.MySQLExec(t, db, "INSERT INTO users VALUES (50)", "INSERT INTO orders VALUES (80, 50)")
		plan := migratetest.MySQLInspect(t, db, "users", "orders")
		tx := db.Begin()
		defer tx.Rollback()
		// On MySQL, adding the foreign key already waits for transactions that have
		// written the parent.
		waits := "LOCK TABLES"
		if on == testdb.MySQL {
			waits = "ALTER TABLE `orders` ADD CONSTRAINT"
		}
		ended := make(chan error)
		go func() {
			ended <- plan.Apply(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Widen), mysqlOnce("ADD CONSTRAINT", func() { migratetest.Run(t, tx, "DELETE FROM users WHERE id = 50") }))
		}()
		var err error
		for waiting := false; !waiting && err == nil; {
			select {
			case err = <-ended:
				t.Fatalf("Apply: %v, want it to wait for the transaction", err)
			case <-time.After(10 * time.Millisecond):
				waiting = len(migratetest.MySQLStrings(t, db, mysqlAtWork+" AND INFO LIKE '"+waits+"%'")) > 0
			}
		}
		tx.Commit()
		err = <-ended
		migratetest.WantError(t, err, "refused", "table orders", "user_id", "for example id = 80, user_id = 50")
	})
}
