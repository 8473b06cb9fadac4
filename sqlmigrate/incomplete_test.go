package sqlmigrate_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// Apply returns ErrIncomplete in two cases. In the first, table t holds key 0, so that phase
// guard leaves the table out. In the second, a trigger rejects large keys. The trigger is
// created after the plan was made, so only Apply can find it, by trying keys after the last
// phase of the plan. If the caller requests phase detach alone, Apply succeeds in both cases,
// because phase guard can still come.
func TestApplyIncomplete(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before string // a statement before the plan is made
		after  string // a statement after the plan is made, before Apply
		phases []sqlmigrate.PhaseName
		want   string // a part of the error; empty if Apply must succeed
	}{
		{"key 0", "INSERT INTO t VALUES (0)", "", nil, "phase guard has left out table t: column id of table t: it holds key 0, which is not positive"},
		{"key 0 and its phase", "INSERT INTO t VALUES (0)", "", []sqlmigrate.PhaseName{"detach", "guard"}, "it holds key 0"},
		{"key 0 and another phase", "INSERT INTO t VALUES (0)", "", []sqlmigrate.PhaseName{"detach"}, ""},
		{"trigger", "", "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.id > 9999 BEGIN SELECT RAISE(ABORT, 'too large'); END", nil, "too large"},
		{"trigger and phases to come", "", "CREATE TRIGGER g BEFORE INSERT ON t WHEN NEW.id > 9999 BEGIN SELECT RAISE(ABORT, 'too large'); END", []sqlmigrate.PhaseName{"detach"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := sqlite(t)
			migratetest.Run(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)")
			if tt.before != "" {
				migratetest.Run(t, db, tt.before)
			}
			plan, err := sqlmigrate.Inspect(t.Context(), db, "t")
			if err != nil {
				t.Fatal(err)
			}
			if tt.after != "" {
				migratetest.Run(t, db, tt.after)
			}
			var opts []sqlmigrate.ApplyOption
			if tt.phases != nil {
				opts = append(opts, sqlmigrate.WithPhases(tt.phases...))
			}
			if err = plan.Apply(t.Context(), db, opts...); tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
			} else if migratetest.WantError(t, err, tt.want); !errors.Is(err, sqlmigrate.ErrIncomplete) {
				t.Errorf("error %v is not ErrIncomplete", err)
			}
		})
	}
}

// Phase detach is refused before phase widen. A detached table with narrow keys would
// accept no row, because the database assigns no key and a Snowflake ID does not fit.
func TestDetachBeforeWiden(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.Postgres, testdb.MariaDB, testdb.MySQL}, func(t *testing.T, db *gorm.DB) {
		key := map[string]string{"postgres": "serial", "mysql": "int AUTO_INCREMENT"}[db.Name()]
		migratetest.Run(t, db, "CREATE TABLE t (id "+key+" PRIMARY KEY, n int)")
		plan, err := sqlmigrate.Inspect(t.Context(), db, "t")
		if err != nil {
			t.Fatal(err)
		}
		const want = "phase detach is blocked by phase widen: table t: "
		migratetest.WantError(t, plan.Only(sqlmigrate.Detach, sqlmigrate.Guard).Err(), want)
		migratetest.WantError(t, plan.Apply(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Detach, sqlmigrate.Guard)), want)
		migratetest.Run(t, db, "INSERT INTO t (n) VALUES (1)")
		for _, phase := range []sqlmigrate.PhaseName{sqlmigrate.Widen, sqlmigrate.Detach, sqlmigrate.Guard} {
			if err := plan.Apply(t.Context(), db, sqlmigrate.WithPhases(phase)); err != nil {
				t.Fatal(err)
			}
		}
		migratetest.Run(t, db, "INSERT INTO t (id, n) VALUES (2124189853926044565, 1)")
	})
}

// Phase guard is refused before phase detach on MySQL and MariaDB, because they do not allow
// a CHECK of a column with AUTO_INCREMENT. The files of phase guard can be written, because
// the files of phase detach may run before them. A plan that is made after phase detach has
// no phase detach any more, so its phase guard is accepted.
func TestGuardBeforeDetach(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.MariaDB, testdb.MySQL}, func(t *testing.T, db *gorm.DB) {
		migratetest.Run(t, db, "CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)")
		plan, err := sqlmigrate.Inspect(t.Context(), db, "t")
		if err != nil {
			t.Fatal(err)
		}
		const want = "phase guard is blocked by phase detach"
		part := plan.Only(sqlmigrate.Widen, sqlmigrate.Guard)
		migratetest.WantError(t, part.Err(), want)
		if err := part.WriteFiles(t.TempDir(), sqlmigrate.Goose); err != nil {
			t.Errorf("files that may follow others: %v", err)
		}
		migratetest.WantError(t, plan.Apply(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Widen, sqlmigrate.Guard)), want)
		for _, phase := range []sqlmigrate.PhaseName{sqlmigrate.Widen, sqlmigrate.Detach} {
			if err := plan.Apply(t.Context(), db, sqlmigrate.WithPhases(phase)); err != nil {
				t.Fatal(err)
			}
		}
		again, err := sqlmigrate.Inspect(t.Context(), db, "t")
		if err == nil {
			err = again.Only(sqlmigrate.Guard).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Apply(t.Context(), db, sqlmigrate.WithPhases(sqlmigrate.Guard)); err != nil {
			t.Fatal(err)
		}
	})
}
