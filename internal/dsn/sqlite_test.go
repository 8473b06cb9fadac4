package dsn_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/dsn"
)

// TestSQLiteFile checks that Open creates the file that the URL names, for names with
// characters that have a meaning in a URL.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app.db", "with space.db", "a?b#c.db", "100%.db", "a+b&c=d.db", "%41.db", "ключ.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			db := openSQLite(t, "sqlite://"+url.PathEscape(path))
			if err := db.Exec("CREATE TABLE t (id integer)").Error; err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("database is not in the file named: %v", err)
			}
		})
	}
}

// TestSQLiteRelativePath checks that a path without a leading slash is relative to the
// working folder.
func TestSQLiteRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	db := openSQLite(t, "sqlite://app.db")
	if err := db.Exec("CREATE TABLE t (id integer)").Error; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("app.db"); err != nil {
		t.Error(err)
	}
}

// TestSQLitePragmas checks the default pragmas, and that the URL overrides each of them.
func TestSQLitePragmas(t *testing.T) {
	t.Parallel()
	const file, memory = "app.db", ":memory:"
	tests := []struct{ name, path, query, pragma, want string }{
		{"busy timeout", file, "", "busy_timeout", "5000"},
		{"foreign keys", file, "", "foreign_keys", "1"},
		{"journal", file, "", "journal_mode", "wal"},
		{"memory foreign keys", memory, "", "foreign_keys", "1"},
		{"memory journal", memory, "", "journal_mode", "memory"},
		{"url wins", file, "?_pragma=journal_mode(delete)", "journal_mode", "delete"},
		{"url wins in another form", file, "?_pragma=Foreign_Keys+%3D+0", "foreign_keys", "0"},
		{"url keeps the others", file, "?_pragma=busy_timeout(7)", "foreign_keys", "1"},
		{"url adds", file, "?_pragma=cache_size(77)", "cache_size", "77"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := test.path
			if path != memory {
				path = filepath.Join(t.TempDir(), path)
			}
			var got string
			openSQLite(t, "sqlite://"+path+test.query).Raw("PRAGMA " + test.pragma).Scan(&got)
			if got != test.want {
				t.Errorf("PRAGMA %s = %s, want %s", test.pragma, got, test.want)
			}
		})
	}
}

// TestSQLiteReadThenWrite checks that a transaction has the write lock before its first
// statement. A deferred transaction that has read cannot write any more after another
// transaction has written, even with busy_timeout.
func TestSQLiteReadThenWrite(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "app.db")
	db, other := openSQLite(t, url), openSQLite(t, url+"?_pragma=busy_timeout(0)")
	if err := db.Exec("CREATE TABLE t (n integer); INSERT INTO t VALUES (0)").Error; err != nil {
		t.Fatal(err)
	}
	err := db.Transaction(func(tx *gorm.DB) error {
		var n int
		if err := tx.Raw("SELECT n FROM t").Scan(&n).Error; err != nil {
			return err
		}
		if err := other.Exec("UPDATE t SET n = 5").Error; err == nil {
			t.Error("another connection has written while a transaction that has read was open")
		}
		return tx.Exec("UPDATE t SET n = ?", n+1).Error
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSQLiteExistingFile checks that mode=ro and mode=rw neither create a file nor change
// the journal mode of an existing file.
func TestSQLiteExistingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	for _, mode := range []string{"ro", "rw"} {
		dialector, err := dsn.Open("sqlite://" + path + "?mode=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gorm.Open(dialector); err == nil {
			t.Errorf("mode=%s opens a file that does not exist", mode)
		}
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("mode=%s has created the file", mode)
		}
	}
	openSQLite(t, "sqlite://"+path+"?_pragma=journal_mode(delete)").Exec("CREATE TABLE t (id integer)")
	for _, mode := range []string{"ro", "rw"} {
		db := openSQLite(t, "sqlite://"+path+"?mode="+mode)
		var journal string
		db.Raw("PRAGMA journal_mode").Scan(&journal)
		if journal != "delete" {
			t.Errorf("mode=%s: journal_mode = %s, want delete as it was", mode, journal)
		}
		if err := db.Exec("INSERT INTO t VALUES (1)").Error; (err != nil) != (mode == "ro") {
			t.Errorf("mode=%s: INSERT: %v", mode, err)
		}
	}
}

// TestSQLiteTimeFormat checks that SQLite's date functions can read a time that Go wrote.
func TestSQLiteTimeFormat(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, "sqlite://:memory:")
	var year string
	db.Raw("SELECT strftime('%Y', ?)", db.NowFunc()).Scan(&year)
	if want := strconv.Itoa(db.NowFunc().UTC().Year()); year != want {
		t.Errorf("SQLite reads year %q in a time that Go wrote, want %s", year, want)
	}
}

// TestSQLiteMemoryIsOneDatabase checks that a pool has one database, although every
// connection to :memory: has its own.
func TestSQLiteMemoryIsOneDatabase(t *testing.T) {
	t.Parallel()
	db, other := openSQLite(t, "sqlite://:memory:"), openSQLite(t, "sqlite://:memory:")
	if err := db.Exec("CREATE TABLE t (id integer)").Error; err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	if got := pool.Stats().MaxOpenConnections; got != 1 {
		t.Errorf("up to %d connections, want 1", got)
	}
	if other.Migrator().HasTable("t") {
		t.Error("two databases in memory share a table")
	}
}

// openSQLite opens the database of a URL, and closes it when the test ends.
func openSQLite(t *testing.T, url string) *gorm.DB {
	t.Helper()
	dialector, err := dsn.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	db, err := gorm.Open(dialector)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return db
}
