package sqllease_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// The store keeps the contract of lease.Store on every database. Each handle has its own
// pool, like a process.
func TestConform(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
			return newStore(reopen(t, db), sqllease.WithNamespace(namespace))
		})
	})
}

// A store that NewDB has made, without GORM, keeps the contract of lease.Store too.
func TestConformWithoutGORM(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
			opts := []sqllease.Option{sqllease.WithNamespace(namespace)}
			if isTiDB(db) {
				opts = append(opts, sqllease.AllowVolatile())
			}
			return sqllease.NewDB(poolOf(t, reopen(t, db)), db.Name(), opts...)
		})
	})
}

// NewDB reports a nil pool and an unknown dialect at the first call. With WithPool, its own
// pool may be nil.
func TestNewDBMistakes(t *testing.T) {
	t.Parallel()
	_, err := sqllease.NewDB(nil, "postgres").Load(t.Context())
	if want := "sqllease: db is nil: want what sql.Open returned"; errorText(err) != want {
		t.Errorf("without a pool: %v, want %s", err, want)
	}
	pool := poolOf(t, testdb.Open(t, testdb.SQLite))
	_, err = sqllease.NewDB(pool, "pgx").Load(t.Context())
	if want := `sqllease: dialect "pgx" is not supported: want sqlite, mysql or postgres`; errorText(err) != want {
		t.Errorf("the driver's name: %v, want %s", err, want)
	}
	if _, err := sqllease.NewDB(nil, "sqlite", sqllease.WithPool(pool)).Load(t.Context()); err != nil {
		t.Errorf("a pool by option: %v", err)
	}
}

// The store keeps its contract under settings of a session that change the effect of a
// statement, such as the isolation level, or how the driver sends it.
func TestConformSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		target testdb.Target
		adapt  func(t *testing.T, db *gorm.DB) gorm.Dialector
	}{
		{"rollback journal, no busy timeout", testdb.SQLite, sqliteWith("journal_mode(wal)", "journal_mode(delete)", "busy_timeout(5000)", "busy_timeout(0)")},
		{"without settings", testdb.SQLiteMattn, sqliteBare},
		{"read committed, clientFoundRows", testdb.MySQL, mysqlIsolation("READ-COMMITTED", func(c *mysql.Config) { c.DSNConfig.ClientFoundRows = true })},
		{"serializable", testdb.MySQL, mysqlIsolation("SERIALIZABLE", func(*mysql.Config) {})},
		{"ANSI, lenient, no backslashes", testdb.MySQL, mysqlWith(func(c *mysql.Config) {
			c.DSNConfig.InterpolateParams = true
			c.DSNConfig.Params = map[string]string{"sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES'"}
		})},
		{"repeatable read", testdb.Postgres, postgresWith("default_transaction_isolation=repeatable%20read")},
		{"serializable, simple protocol", testdb.Postgres, postgresSimple("default_transaction_isolation=serializable")},
	} {
		for _, target := range testdb.Alike(test.target) {
			t.Run(string(target)+" "+test.name, func(t *testing.T) {
				t.Parallel()
				db := testdb.Open(t, target)
				leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
					return newStore(open(t, test.adapt(t, db)), sqllease.WithNamespace(namespace))
				})
			})
		}
	}
}

// sqliteWith returns a function that returns a dialector for the same file with changed
// settings in the DSN. The changes are pairs of an old and a new setting, for example
// "busy_timeout(5000)" and "busy_timeout(0)".
func sqliteWith(changes ...string) func(*testing.T, *gorm.DB) gorm.Dialector {
	return func(t *testing.T, db *gorm.DB) gorm.Dialector {
		t.Helper()
		d := db.Dialector.(*sqlite.Dialector)
		escape := strings.NewReplacer("(", "%28", ")", "%29")
		with := d.DSN
		for change := range slices.Chunk(changes, 2) {
			before := with
			with = strings.Replace(with, escape.Replace(change[0]), escape.Replace(change[1]), 1)
			if with == before {
				t.Fatalf("DSN %s does not contain %s", with, change[0])
			}
		}
		return sqlite.New(sqlite.Config{DriverName: d.DriverName, DSN: with})
	}
}

// sqliteBare returns a dialector for the same file without any setting in the DSN.
func sqliteBare(_ *testing.T, db *gorm.DB) gorm.Dialector {
	file, _, _ := strings.Cut(db.Dialector.(*sqlite.Dialector).DSN, "?")
	return sqlite.Open(file)
}

// mysqlWith returns a function that returns a dialector for the same database, with a
// configuration of the driver that change has modified.
func mysqlWith(change func(*mysql.Config)) func(*testing.T, *gorm.DB) gorm.Dialector {
	return func(_ *testing.T, db *gorm.DB) gorm.Dialector {
		config := mysql.Config{DSNConfig: db.Dialector.(*mysql.Dialector).DSNConfig.Clone()}
		change(&config)
		return mysql.New(config)
	}
}

// mysqlIsolation is like mysqlWith, and also sets the isolation level. The variable for the
// level has another name in MariaDB.
func mysqlIsolation(level string, change func(*mysql.Config)) func(*testing.T, *gorm.DB) gorm.Dialector {
	return func(t *testing.T, db *gorm.DB) gorm.Dialector {
		t.Helper()
		var version string
		if err := db.Raw("SELECT VERSION()").Scan(&version).Error; err != nil {
			t.Fatal(err)
		}
		variable := "transaction_isolation"
		if strings.Contains(version, "MariaDB") {
			variable = "tx_isolation"
		}
		return mysqlWith(func(c *mysql.Config) {
			c.DSNConfig.Params = map[string]string{variable: "'" + level + "'"}
			change(c)
		})(t, db)
	}
}

// postgresWith returns a function that returns a dialector for the same database, with a
// further parameter in the DSN.
func postgresWith(parameter string) func(*testing.T, *gorm.DB) gorm.Dialector {
	return func(t *testing.T, db *gorm.DB) gorm.Dialector {
		t.Helper()
		return postgres.Open(testdb.PostgresURL(t, db) + "&" + parameter)
	}
}

// postgresSimple is like postgresWith, and also chooses the simple protocol, in which the
// driver writes the arguments into the text of a statement.
func postgresSimple(parameter string) func(*testing.T, *gorm.DB) gorm.Dialector {
	return func(t *testing.T, db *gorm.DB) gorm.Dialector {
		t.Helper()
		return postgres.New(postgres.Config{DSN: testdb.PostgresURL(t, db) + "&" + parameter, PreferSimpleProtocol: true})
	}
}

// The store keeps its contract on a database in memory. Such a database lives in its only
// connection, so all stores of this test share one GORM handle.
func TestConformMemory(t *testing.T) {
	t.Parallel()
	d, err := dsn.Open("sqlite://:memory:")
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, d)
	leasetest.Conform(t, func(_ *testing.T, namespace string) lease.Store {
		return newStore(db, sqllease.WithNamespace(namespace))
	})
}

// The store keeps its contract on a database in memory that several connections share. On
// such a database, SQLite reports a lock by another error than on a file, and the store must
// know both errors.
func TestConformSharedCache(t *testing.T) {
	t.Parallel()
	testdb.Open(t, testdb.SQLiteMattn) // skips without cgo
	shared := func() gorm.Dialector { return sqlite.Open("file:sqllease?mode=memory&cache=shared") }
	open(t, shared()) // the database exists as long as some connection to it
	leasetest.Conform(t, func(t *testing.T, namespace string) lease.Store {
		return newStore(open(t, shared()), sqllease.WithNamespace(namespace))
	})
}
