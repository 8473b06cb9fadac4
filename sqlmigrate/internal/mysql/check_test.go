package mysql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// On MariaDB a MODIFY drops the CHECK of the column if the statement does not repeat it.
// The plan cannot repeat a CHECK that was added after the inspection, so the phase must
// refuse, and name the table. On MySQL every CHECK belongs to the table and stays.
func TestMySQLNewCheck(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		widen, detach := sqlmigrate.WithPhases(sqlmigrate.Widen), sqlmigrate.WithPhases(sqlmigrate.Detach)
		tests := []struct {
			name, table, add string
			before           []sqlmigrate.ApplyOption // the phases that are applied before add adds the CHECK
			run              func(plan *sqlmigrate.Plan, db *gorm.DB) error
		}{
			{"widen", "orders", "ALTER TABLE orders MODIFY a_id int CHECK (a_id <> 9)", nil, func(p *sqlmigrate.Plan, db *gorm.DB) error {
				return p.Apply(t.Context(), db)
			}},
			{"widen, another one", "orders", "ALTER TABLE orders MODIFY b_id int CHECK (b_id <> 9 AND b_id <> 10)", nil, func(p *sqlmigrate.Plan, db *gorm.DB) error {
				return p.Apply(t.Context(), db)
			}},
			{"widen taken back", "orders", "ALTER TABLE orders MODIFY a_id bigint CHECK (a_id <> 9)", []sqlmigrate.ApplyOption{widen}, func(p *sqlmigrate.Plan, db *gorm.DB) error {
				return p.Revert(t.Context(), db, widen)
			}},
			{"detach taken back", "flags", "ALTER TABLE flags MODIFY id bigint NOT NULL CHECK (id <> 10)", []sqlmigrate.ApplyOption{widen, detach}, func(p *sqlmigrate.Plan, db *gorm.DB) error {
				return p.Revert(t.Context(), db, detach)
			}},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				db := migratetest.MySQLSmall(t, on)
				migratetest.MySQLExec(t, db, "ALTER TABLE orders MODIFY b_id int CHECK (b_id <> 9)")
				plan := migratetest.MySQLInspect(t, db, migratetest.MySQLSmallTargets()...)
				for _, phase := range test.before {
					mysqlApply(t, db, plan, phase)
				}
				migratetest.MySQLExec(t, migratetest.MySQLWith(t, db, mysqlUncheckedSession), test.add)
				schema := migratetest.MySQLSchema(t, db)
				err := test.run(plan, db)
				if mysqlMariaDB(t, db) {
					mysqlWantChanged(t, err, test.table)
					migratetest.MySQLSame(t, "schema after a refusal", migratetest.MySQLSchema(t, db), schema)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if want, got := strings.Count(schema[test.table], " CHECK ("), strings.Count(migratetest.MySQLSchema(t, db)[test.table], " CHECK ("); got < want {
					t.Errorf("%d CHECKs, want the %d as before:\n%s", got, want, migratetest.MySQLSchema(t, db)[test.table])
				}
			})
		}
	})
}

// The server writes the expression of a CHECK differently after the type of a column has
// changed. The plan must not take a CHECK that existed at the inspection for a new one. Here
// Apply is canceled at the MODIFY of table notes, resumed and repeated, and Revert runs
// twice. Both CHECKs must still exist at the end.
func TestMySQLOldCheck(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY)",
			"CREATE TABLE notes (id int NOT NULL DEFAULT 4 PRIMARY KEY CHECK (id NOT IN (5, 6) AND id <> 1e9), "+
				"user_id int CHECK (CONCAT(user_id, 'ü\"`''') <> _latin1'x' AND user_id > -(1)), "+
				"FOREIGN KEY (user_id) REFERENCES users (id))",
			"INSERT INTO users VALUES (2)", "INSERT INTO notes VALUES (1, 2)")
		plan := migratetest.MySQLInspect(t, db, "users", "notes")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := plan.Apply(ctx, db, sqlmigrate.WithProgress(func(p sqlmigrate.Progress) {
			if strings.HasPrefix(p.SQL, "ALTER TABLE `notes` MODIFY") {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Apply: %v, want context.Canceled", err)
		}
		for range 2 {
			mysqlApply(t, db, plan)
		}
		for range 2 {
			mysqlRevert(t, db, plan)
		}
		if notes := migratetest.MySQLSchema(t, db)["notes"]; strings.Count(notes, " CHECK (") != 2 {
			t.Errorf("want two CHECKs:\n%s", notes)
		}
	})
}

// A user who may only read sees no foreign keys on MariaDB, but sees every CHECK. A plan
// that such a user has made must keep the CHECK.
func TestMySQLCheckInspectedByReader(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE notes (id int NOT NULL PRIMARY KEY CHECK (id <> 9))")
		reader := mysqlAs(t, db, mysqlReader(t, db))
		plan, err := migratetest.Inspect(t.Context(), reader, "notes")
		if err != nil {
			t.Fatal(err)
		}
		mysqlApply(t, db, plan)
		if created := migratetest.MySQLSchema(t, db)["notes"]; !strings.Contains(created, "<> 9") {
			t.Errorf("the CHECK is gone:\n%s", created)
		}
	})
}

// mysqlReader creates a user who may read the database of db, and returns the name.
func mysqlReader(t *testing.T, db *gorm.DB) string {
	t.Helper()
	name := migratetest.MySQLRow(t, db, "SELECT DATABASE()")[0]
	user := strings.ReplaceAll(name, "gormflake_", "u_")
	if grants := strings.Join(migratetest.MySQLStrings(t, db, "SHOW GRANTS"), ""); !strings.Contains(grants, "WITH GRANT OPTION") {
		t.Skip("the user of the server may not grant rights")
	}
	migratetest.MySQLExec(t, db, "CREATE USER "+user+" IDENTIFIED BY 'x'")
	t.Cleanup(func() { migratetest.MySQLAtEnd(t, db, "DROP USER "+user) })
	migratetest.MySQLExec(t, db, "GRANT SELECT ON "+name+".* TO "+user)
	return user
}
