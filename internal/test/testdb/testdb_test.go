package testdb_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// row is a row of the tests' only table.
type row struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Name string
}

// TestEachIsFreshAndIsolated opens two databases of a target at the same time. If they
// were the same database, the second migration or insert would find the rows of the
// first.
func TestEachIsFreshAndIsolated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *gorm.DB) {
				if tables, err := db.Migrator().GetTables(); err != nil || len(tables) != 0 {
					t.Fatalf("tables = %q, %v, want none", tables, err)
				}
				if err := db.AutoMigrate(&row{}); err != nil {
					t.Fatal(err)
				}
				if err := db.Create(&row{1, name}).Error; err != nil {
					t.Fatal(err)
				}
				var got []row
				if err := db.Find(&got).Error; err != nil {
					t.Fatal(err)
				}
				if want := []row{{1, name}}; !slices.Equal(got, want) {
					t.Errorf("rows = %v, want %v", got, want)
				}
			})
		})
	}
}

// TestTargetOf checks that TargetOf returns the target for which a database was opened. Each
// names the subtest after the target, so the name of the running test ends with the target.
func TestTargetOf(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if got := testdb.TargetOf(db); !strings.HasSuffix(t.Name(), "/"+string(got)) {
			t.Errorf("TargetOf = %s in %s", got, t.Name())
		}
	})
}

// TestOptionsArePassed checks that the options reach GORM, and that the databases of
// several targets do not share the caller's gorm.Config, into which GORM writes.
func TestOptionsArePassed(t *testing.T) {
	t.Parallel()
	config := &gorm.Config{SkipDefaultTransaction: true, PrepareStmt: true}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if !db.SkipDefaultTransaction || !db.PrepareStmt {
			t.Errorf("SkipDefaultTransaction, PrepareStmt = %v, %v, want both true", db.SkipDefaultTransaction, db.PrepareStmt)
		}
		if db.Logger != logger.Discard {
			t.Errorf("Logger = %v, want the one that logs nothing", db.Logger)
		}
		if config.Dialector != nil || config.ConnPool != nil {
			t.Error("the caller's gorm.Config now belongs to one database")
		}
	}, config)
}

// TestForeignKeysAreEnforced checks that every database rejects a row whose parent is
// missing. SQLite does so only by a setting, without which wrong foreign keys would pass.
func TestForeignKeysAreEnforced(t *testing.T) {
	t.Parallel()
	type master struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	type detail struct {
		ID       int64 `gorm:"primaryKey;autoIncrement:false"`
		MasterID int64
		Master   master
	}
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&master{}, &detail{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Omit(clause.Associations).Create(&detail{ID: 1, MasterID: 2}).Error; err == nil {
			t.Error("a detail without its master was accepted")
		}
	})
}

// TestReturning checks RETURNING, which is the largest difference between MariaDB and
// MySQL for GORM.
func TestReturning(t *testing.T) {
	t.Parallel()
	type counted struct{ ID int64 }
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		sql := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&counted{}) })
		if got, want := strings.Contains(sql, "RETURNING"), testdb.TargetOf(db) == testdb.MariaDB; got != want {
			t.Errorf("RETURNING in %q = %v, want %v", sql, got, want)
		}
	})
}

// TestPostgresURL checks that pgx finds the tables of the test's schema under the URL.
func TestPostgresURL(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	if err := db.AutoMigrate(&row{}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), testdb.PostgresURL(t, db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"rows"}, []string{"id", "name"},
		pgx.CopyFromRows([][]any{{int64(1), "a"}, {int64(2), "b"}}))
	if err != nil || n != 2 {
		t.Fatalf("CopyFrom = %d, %v, want 2 rows", n, err)
	}
	var count int64
	if db.Model(&row{}).Count(&count); count != 2 {
		t.Errorf("GORM sees %d rows, want the 2 that pgx copied", count)
	}
}

// TestDatabasesAreDropped checks that a test leaves no database on the server, because
// the server would fill up.
func TestDatabasesAreDropped(t *testing.T) {
	t.Parallel()
	const schemata = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?"
	for target, query := range map[testdb.Target]string{
		testdb.MariaDB:  schemata,
		testdb.MySQL:    schemata,
		testdb.Postgres: "SELECT count(*) FROM pg_namespace WHERE nspname = ?",
	} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			observer := testdb.Open(t, target)
			var name string
			t.Run("inner", func(t *testing.T) { name = databaseName(t, testdb.Open(t, target)) })
			// The database of the observer, which still exists, shows that the query works.
			for name, want := range map[string]int64{databaseName(t, observer): 1, name: 0} {
				var count int64
				if err := observer.Raw(query, name).Scan(&count).Error; err != nil || count != want {
					t.Errorf("%s: %d found, %v, want %d", name, count, err, want)
				}
			}
		})
	}
}

// databaseName returns the name of the database, or schema, of the connection.
func databaseName(t *testing.T, db *gorm.DB) (name string) {
	t.Helper()
	query := "SELECT current_schema()"
	if db.Name() == "mysql" {
		query = "SELECT database()"
	}
	if err := db.Raw(query).Scan(&name).Error; err != nil || !strings.HasPrefix(name, "gormflake_") {
		t.Fatalf("%s = %q, %v", query, name, err)
	}
	return name
}
