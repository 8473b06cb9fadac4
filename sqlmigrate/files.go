package sqlmigrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gormflake/gormflake/lease/sqllease"
)

// WriteFiles writes each phase as a migration of its own: a file for goose, a
// pair of files for golang-migrate. Their versions are timestamps, those of now
// in UTC or after the newest one in dir; in a dir whose files are numbered, such
// as 000012_name.up.sql, they are the next numbers. Their names end with
// snowflake_widen, snowflake_detach and snowflake_guard.
//
// dir is created if it is absent. It is an error if there are blockers or
// nothing to do, if dir has files of the other tool, or the same migration
// under another version, and no file is ever overwritten. After an error there
// are no new files.
func (p *Plan) WriteFiles(dir string, format Format) error {
	if err := p.Err(); err != nil {
		return err
	}
	if p.Empty() {
		return errors.New("sqlmigrate: the plan is empty: there is nothing to write")
	}
	e, err := p.runner()
	if err != nil {
		return err
	}
	migrations := make([]migration, len(p.Phases))
	for i, phase := range p.Phases {
		migrations[i] = migration{
			name: "snowflake_" + string(phase.Name),
			up:   e.script(statementsOf(phase.up()), format),
			down: e.script(statementsOf(phase.down()), format),
		}
	}
	return writeMigrations(dir, format, migrations)
}

// WriteLeaseTable writes the migration that creates the table of package
// sqllease, for those who do not let their applications do it. dialect is
// "sqlite", "mysql" or "postgres"; dir and format are as in [Plan.WriteFiles],
// opts and dialect as in [sqllease.DDL]. Its name ends with snowflake_lease.
func WriteLeaseTable(dir string, format Format, dialect string, opts ...sqllease.Option) error {
	e, err := engineOf(dialect)
	if err != nil {
		return err
	}
	ddl, err := sqllease.DDL(dialect, opts...)
	if err != nil {
		return fmt.Errorf("sqlmigrate: %w", err)
	}
	ddl = strings.TrimSuffix(strings.TrimSpace(ddl), ";")
	table, _, ok := strings.Cut(strings.TrimPrefix(ddl, createTable), " (")
	if !ok || !strings.HasPrefix(ddl, createTable) {
		return fmt.Errorf("sqlmigrate: no table is created by %q", ddl)
	}
	return writeMigrations(dir, format, []migration{{
		name: "snowflake_lease",
		up:   e.script([]Statement{{SQL: ddl}}, format),
		down: leaseWarning + e.script([]Statement{{SQL: "DROP TABLE IF EXISTS " + table}}, format),
	}})
}

const (
	createTable  = "CREATE TABLE IF NOT EXISTS "
	leaseWarning = "-- The table is the only record of which IDs may have been issued: stop every\n" +
		"-- program that leases a worker from it before it is dropped.\n"
)

// A migration is the text of one phase's files.
type migration struct{ name, up, down string }

// A file is one to be written.
type file struct{ name, text string }

func writeMigrations(dir string, format Format, migrations []migration) error {
	if format != GolangMigrate && format != Goose {
		return fmt.Errorf("sqlmigrate: unknown format %q: want %s or %s", format, GolangMigrate, Goose)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("sqlmigrate: %w", err)
	}
	present, err := readFolder(dir, format)
	if err != nil {
		return err
	}
	versions, err := present.versions(len(migrations), time.Now().UTC())
	if err != nil {
		return err
	}
	var files []file
	for i, m := range migrations {
		if err := present.has(m, format); err != nil {
			return err
		}
		files = append(files, m.files(versions[i]+"_"+m.name, format)...)
	}
	return writeAll(dir, files)
}

func (m migration) files(base string, format Format) []file {
	if format == Goose {
		return []file{{base + ".sql", "-- +goose Up\n" + ended(m.up) + "\n-- +goose Down\n" + ended(m.down)}}
	}
	return []file{{base + ".up.sql", ended(m.up)}, {base + ".down.sql", ended(m.down)}}
}

func ended(text string) string { return strings.TrimRight(text, "\n") + "\n" }

// writeAll writes all files or none.
func writeAll(dir string, files []file) error {
	for i, f := range files {
		if err := writeNew(filepath.Join(dir, f.name), f.text); err != nil {
			errs := []error{fmt.Errorf("sqlmigrate: no file has been written: %w", err)}
			for _, earlier := range files[:i] {
				errs = append(errs, os.Remove(filepath.Join(dir, earlier.name)))
			}
			return errors.Join(errs...)
		}
	}
	return nil
}

// writeNew never overwrites, and leaves nothing behind if it fails.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
