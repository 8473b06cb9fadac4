package sqllease_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// orAllow ends the errors that AllowVolatile avoids. neverTried ends the errors about
// servers that the store refuses by name.
const (
	orAllow    = " (or accept it with AllowVolatile and lease.WithSettle)"
	neverTried = ", whose settings do not show what it forgets, and on which leases were never tried: want PostgreSQL, MySQL, MariaDB or another store, such as etcdlease" + orAllow
)

// Each case has a setting, table or server that may forget writes. The store must refuse it,
// or log one warning, as the case expects. With AllowVolatile the store must accept it without
// a warning. The test cannot change settings of a whole server, so a proxy replaces a setting
// by a value in the statement with which the store reads the setting.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		target  testdb.Target
		open    func(t *testing.T, db *gorm.DB) *gorm.DB
		refused string // the error of each call, or empty if the store accepts the setting
		warned  string // the only warning, or empty if there must be none
	}{
		{"default", testdb.SQLite, defaultSettings, "", ""},
		{"default", testdb.MySQL, defaultSettings, "", ""},
		{"default", testdb.Postgres, defaultSettings, "", ""},
		{
			"synchronous OFF", testdb.SQLite, synchronousOff,
			"sqllease: PRAGMA synchronous is OFF, which forgets (or ruins the file) when the machine loses power: set it to FULL" + orAllow, "",
		},
		{
			"flush 0", testdb.MySQL, replacing("@@GLOBAL.innodb_flush_log_at_trx_commit", "0"),
			"sqllease: innodb_flush_log_at_trx_commit is 0, which forgets up to a second of writes when the server dies: set it to 1" + orAllow, "",
		},
		{
			"flush 2", testdb.MySQL, replacing("@@GLOBAL.innodb_flush_log_at_trx_commit", "2"),
			"", "sqllease: innodb_flush_log_at_trx_commit is 2, which forgets up to a second of writes when the machine dies: set it to 1",
		},
		{
			"MyISAM", testdb.MySQL, createdBy("ENGINE=InnoDB", "ENGINE=MyISAM"),
			"sqllease: table `snowflake_workers` has the engine MyISAM, which can forget writes: ALTER TABLE `snowflake_workers` ENGINE=InnoDB" + orAllow, "",
		},
		{
			"MEMORY", testdb.MySQL, createdBy("ENGINE=InnoDB", "ENGINE=MEMORY"),
			"sqllease: table `snowflake_workers` has the engine MEMORY, which can forget writes: ALTER TABLE `snowflake_workers` ENGINE=InnoDB" + orAllow, "",
		},
		{
			"fsync off", testdb.Postgres, replacing("current_setting('fsync')", "'off'"),
			"", "sqllease: fsync is off, which forgets (or ruins the database) when the machine dies: set it to on",
		},
		{
			"unlogged", testdb.Postgres, createdBy("CREATE TABLE", "CREATE UNLOGGED TABLE"),
			`sqllease: table "snowflake_workers" is unlogged or temporary, and empty after a crash: ALTER TABLE "snowflake_workers" SET LOGGED` + orAllow, "",
		},
		{"CockroachDB", testdb.Postgres, replacing("version()", "'CockroachDB CCL v22.2.2'"), "sqllease: the server is CockroachDB (CockroachDB CCL v22.2.2)" + neverTried, ""},
		{"YugabyteDB", testdb.Postgres, replacing("version()", "'PostgreSQL 11.2-YB-2.5.1.0-b0'"), "sqllease: the server is YugabyteDB (PostgreSQL 11.2-YB-2.5.1.0-b0)" + neverTried, ""},
	} {
		for _, target := range testdb.Alike(test.target) {
			t.Run(string(target)+" "+test.name, func(t *testing.T) {
				t.Parallel()
				db := test.open(t, testdb.Open(t, target))
				var log syncBuffer
				store := newStore(db, sqllease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				if test.refused != "" {
					wantError(t, test.name, store, test.refused)
				} else {
					swap(t, store, 1, lease.Record{}, first, true)
					load(t, store)
				}
				wantWarning(t, &log, test.warned)
				var silent syncBuffer
				store = newStore(db, sqllease.AllowVolatile(), sqllease.WithLogger(slog.New(slog.NewTextHandler(&silent, nil))))
				swap(t, store, 2, lease.Record{}, first, true)
				wantWarning(t, &silent, "")
			})
		}
	}
}

// wantWarning expects that the log has exactly one warning with this text, or no line if
// the text is empty.
func wantWarning(t *testing.T, log *syncBuffer, warning string) {
	t.Helper()
	lines := strings.Count(log.String(), "\n")
	if warning == "" && lines > 0 || warning != "" && (lines != 1 || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), warning)) {
		t.Errorf("logged %q, want one warning %q", log.String(), warning)
	}
}

// A syncBuffer is a log that several goroutines can write and read.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// defaultSettings returns db unchanged, for cases that change no setting.
func defaultSettings(_ *testing.T, db *gorm.DB) *gorm.DB { return db }

// synchronousOff opens the file with synchronous=OFF.
func synchronousOff(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	return open(t, sqliteWith("journal_mode(wal)", "synchronous(0)")(t, db))
}

// replacing returns a function that opens the database through a proxy that replaces an
// expression in statements.
func replacing(from, to string) func(*testing.T, *gorm.DB) *gorm.DB {
	return func(t *testing.T, db *gorm.DB) *gorm.DB {
		t.Helper()
		return proxied(t, db, &proxy{rewrite: func(statement string) string {
			return strings.ReplaceAll(statement, from, to)
		}})
	}
}

// createdBy returns a function that creates the table by a changed DDL.
func createdBy(from, to string) func(*testing.T, *gorm.DB) *gorm.DB {
	return func(t *testing.T, db *gorm.DB) *gorm.DB {
		t.Helper()
		run(t, db, strings.Replace(ddlOf(t, db), from, to, 1))
		return db
	}
}

// ddlOf returns the statement that creates the table on this database.
func ddlOf(t *testing.T, db *gorm.DB) string {
	t.Helper()
	statement, err := sqllease.DDL(db.Dialector.Name())
	if err != nil {
		t.Fatal(err)
	}
	return statement
}

// Eight first calls of a store run at once on a server that may forget writes. The store must
// log one warning.
func TestWarnsOnce(t *testing.T) {
	t.Parallel()
	db := replacing("current_setting('fsync')", "'off'")(t, testdb.Open(t, testdb.Postgres))
	var log syncBuffer
	store := newStore(db, sqllease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { load(t, store) })
	}
	wg.Wait()
	wantWarning(t, &log, "fsync is off")
}

// The store refuses a session without autocommit, even with AllowVolatile. In such a session no
// write would ever be committed, although every statement would report that it had written.
func TestMySQLAutocommit(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		without := open(t, mysqlWith(func(c *mysql.Config) {
			c.DSNConfig.Params = map[string]string{"autocommit": "0"}
		})(t, db))
		wantError(t, "autocommit=0", newStore(without, sqllease.AllowVolatile()),
			"sqllease: the connection has autocommit=0, under which nothing that the store writes is committed: remove it from the program, the DSN or the server's settings")
	})
}

// The store refuses to read from a standby, which may lag.
func TestPostgresStandby(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	swap(t, newStore(db), 1, lease.Record{}, first, true)
	store := newStore(replacing("pg_is_in_recovery()", "true")(t, db))
	const want = "sqllease: the server is a standby, which lags: want a DSN that leads to the primary (target_session_attrs=read-write)"
	if records, err := store.Load(within(t, patience)); errorText(err) != want {
		t.Errorf("Load = %v, %v, want %s", records, err, want)
	}
}

// The store's commits wait for the disk even if the session has synchronous_commit=off. A
// deferred trigger, which PostgreSQL runs as part of the commit, records the setting that
// the commit uses. A statement that the store has not sent still commits under off, and
// the session's setting stays off.
func TestPostgresCommitsDurably(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	run(t, db, ddlOf(t, db), "CREATE TABLE commits (worker_id INTEGER, bound BIGINT, setting TEXT)",
		`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO commits VALUES (NEW.worker_id, NEW.bound, current_setting('synchronous_commit')); RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT OR UPDATE ON snowflake_workers
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`)
	laxDB := open(t, postgresWith("synchronous_commit=off")(t, db)) // whose commits do not wait for the disk
	store := newStore(laxDB)
	swap(t, store, 1, lease.Record{}, first, true)
	swap(t, store, 1, first, second, true)
	run(t, laxDB, "INSERT INTO snowflake_workers VALUES ('other', 9, 9, '')")
	var got []string
	if err := db.Raw("SELECT worker_id || ' ' || bound || ' ' || setting FROM commits ORDER BY bound").Scan(&got).Error; err != nil {
		t.Fatal(err)
	}
	want := "9 9 off, 1 1000 on, 1 2000 on" // worker, bound and setting of each commit
	if strings.Join(got, ", ") != want {
		t.Errorf("commits were made under %q, want %q", got, want)
	}
	var setting string
	if err := laxDB.Raw("SHOW synchronous_commit").Scan(&setting).Error; err != nil || setting != "off" {
		t.Errorf("the session has synchronous_commit=%s afterwards (%v), want off", setting, err)
	}
}
