package filestest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	atlas "ariga.io/atlas/sql/migrate"
	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratemysql "github.com/golang-migrate/migrate/v4/database/mysql"
	migratepostgres "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	migratesqlite "github.com/golang-migrate/migrate/v4/database/sqlite"
	migratesqlite3 "github.com/golang-migrate/migrate/v4/database/sqlite3"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A tool is a migration tool. It runs all files of a directory up or down, on its own
// connections.
type tool struct {
	name   string
	format sqlmigrate.Format
	open   func(t *testing.T, db *gorm.DB, dir string) (up, down func() error)
}

// tools returns the migration tools for a database of this kind. For SQLite, golang-migrate
// is also in the list without the transactions around its files.
func tools(target testdb.Target) []tool {
	// The argument of openMigrate turns off the transaction around each file.
	tools := []tool{
		{"golang-migrate", sqlmigrate.GolangMigrate, openMigrate(false)},
		{"goose", sqlmigrate.Goose, openGoose},
		{"atlas", sqlmigrate.Atlas, openAtlas},
	}
	if target == testdb.SQLite || target == testdb.SQLiteMattn {
		tools = append(tools, tool{"golang-migrate without transactions", sqlmigrate.GolangMigrate, openMigrate(true)})
	}
	return tools
}

// each runs fn with every combination of target and tool, each with a new database.
func each(t *testing.T, targets []testdb.Target, fn func(t *testing.T, db *gorm.DB, tool tool)) {
	t.Helper()
	for _, target := range targets {
		for _, tool := range tools(target) {
			t.Run(string(target)+"/"+tool.name, func(t *testing.T) {
				t.Parallel()
				fn(t, testdb.Open(t, target), tool)
			})
		}
	}
}

// pool opens the database of db for a tool, with foreign keys enabled, as the URL of the
// tool would.
func pool(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	driver, dsn := source(t, db)
	p, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// source returns the name of the driver and the data source of db.
func source(t *testing.T, db *gorm.DB) (driver, dsn string) {
	t.Helper()
	switch d := db.Dialector.(type) {
	case *sqlite.Dialector:
		if d.DriverName == "" {
			return "sqlite3", d.DSN
		}
		return d.DriverName, d.DSN
	case *mysql.Dialector:
		config := d.DSNConfig.Clone()
		config.MultiStatements = true // golang-migrate does this in its URLs
		return "mysql", config.FormatDSN()
	case *postgres.Dialector:
		return "pgx", d.DSN
	}
	t.Fatalf("no tool for a %T", db.Dialector)
	return "", ""
}

// openMigrate returns the field open of the tool golang-migrate. noTxWrap turns off its
// transaction around each file, which only its drivers for SQLite have.
func openMigrate(noTxWrap bool) func(t *testing.T, db *gorm.DB, dir string) (up, down func() error) {
	return func(t *testing.T, db *gorm.DB, dir string) (up, down func() error) {
		t.Helper()
		driver, err := migrateDriver(t, db, noTxWrap)
		if err != nil {
			t.Fatal(err)
		}
		files, err := iofs.New(os.DirFS(dir), ".")
		if err != nil {
			t.Fatal(err)
		}
		m, err := migrate.NewWithInstance("iofs", files, "test", driver)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = m.Close() })
		return m.Up, m.Down
	}
}

// migrateDriver returns golang-migrate's driver for the database of db.
func migrateDriver(t *testing.T, db *gorm.DB, noTxWrap bool) (database.Driver, error) {
	t.Helper()
	p := pool(t, db)
	switch testdb.TargetOf(db) {
	case testdb.SQLite:
		return migratesqlite.WithInstance(p, &migratesqlite.Config{NoTxWrap: noTxWrap})
	case testdb.SQLiteMattn:
		return migratesqlite3.WithInstance(p, &migratesqlite3.Config{NoTxWrap: noTxWrap})
	case testdb.MariaDB, testdb.MySQL:
		return migratemysql.WithInstance(p, &migratemysql.Config{})
	default:
		return migratepostgres.WithInstance(p, &migratepostgres.Config{})
	}
}

// openGoose is the field open of the tool goose. The function down takes back all
// migrations.
func openGoose(t *testing.T, db *gorm.DB, dir string) (up, down func() error) {
	t.Helper()
	dialect := map[string]goose.Dialect{
		"sqlite": goose.DialectSQLite3, "mysql": goose.DialectMySQL, "postgres": goose.DialectPostgres,
	}[db.Dialector.Name()]
	provider, err := goose.NewProvider(dialect, pool(t, db), os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	up = func() error { _, err := provider.Up(t.Context()); return err }
	down = func() error { _, err := provider.DownTo(t.Context(), 0); return err }
	return up, down
}

// openAtlas is the field open of the tool Atlas. It reads the files with the library of
// Atlas and runs each file in a transaction, as Atlas does. Atlas has no down files, so the
// function down runs the files of directory down, which people run by hand.
func openAtlas(t *testing.T, db *gorm.DB, dir string) (up, down func() error) {
	t.Helper()
	folder := func(dir string) []atlas.File {
		if err := os.MkdirAll(dir, 0o700); err != nil { // a file that was written by hand has no directory down
			t.Fatal(err)
		}
		local, err := atlas.NewLocalDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := local.Checksum() // as "atlas migrate hash" does
		if err == nil {
			err = errors.Join(atlas.WriteSumFile(local, sum), atlas.Validate(local))
		}
		files, listed := local.Files()
		if err := errors.Join(err, listed); err != nil {
			t.Fatal(err)
		}
		return files
	}
	forth, back := folder(dir), folder(filepath.Join(dir, "down"))
	slices.Reverse(back)
	p := pool(t, db)
	run := func(files []atlas.File) func() error {
		return func() error {
			for _, f := range files {
				if err := runAtlas(t.Context(), p, f); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return run(forth), run(back)
}

// runAtlas runs a file in a transaction, split into statements as Atlas splits it.
func runAtlas(ctx context.Context, p *sql.DB, f atlas.File) error {
	statements, err := f.Stmts()
	if err != nil {
		return err
	}
	tx, err := p.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit, it says so
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return tx.Commit()
}

// mustRun executes the statements and stops the test at the first error.
func mustRun(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := db.Exec(s).Error; err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// countOf returns the number of rows of a table.
func countOf(t *testing.T, db *gorm.DB, table string) int64 {
	t.Helper()
	var n int64
	if err := db.Table(table).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

// errText returns the message of an error. It is empty if there is no error, or if
// golang-migrate returned ErrNoChange, which means that there was no file to run.
func errText(err error) string {
	if err == nil || errors.Is(err, migrate.ErrNoChange) {
		return ""
	}
	return err.Error()
}
