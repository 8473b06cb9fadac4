package sqlmigrate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/lease/sqllease"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/migrationfile"
)

// A Format is the format of a migration tool's files.
type Format string

// The formats.
const (
	GolangMigrate Format = "golang-migrate" // github.com/golang-migrate/migrate: pairs of NNN_name.up.sql and NNN_name.down.sql
	Goose         Format = "goose"          // github.com/pressly/goose: NNN_name.sql
)

// WriteFiles writes each phase as a migration of its own, and each further
// transaction of a phase as one more: a file for goose, a pair of files for
// golang-migrate. Their versions are timestamps, now in UTC or
// after the newest one in dir; in a dir whose files are numbered, such
// as 000012_name.up.sql, they are the next numbers. Their names end with
// snowflake_widen, snowflake_detach, snowflake_guard and snowflake_park, and further
// transactions with a number, such as snowflake_guard_2.
//
// dir is created if it is absent. It is an error if there are blockers or
// nothing to do, if dir has files of the other tool, or the same migration
// under another version, and no file is ever overwritten. After an error there
// are no new files.
func (p *Plan) WriteFiles(dir string, format Format) error {
	if err := errorOf(p.Blockers); err != nil {
		return err
	}
	if p.Empty() {
		return errors.New("sqlmigrate: the plan is empty: there is nothing to write")
	}
	e, err := p.runner()
	if err != nil {
		return err
	}
	var migrations []migrationfile.Migration
	for _, phase := range p.Phases {
		for i, t := range transactionsOf(&phase) {
			name := "snowflake_" + string(phase.Name)
			if i > 0 {
				name += "_" + strconv.Itoa(i+1)
			}
			migrations = append(migrations, migrationfile.Migration{
				Name: name,
				Up:   e.Script(statementsOf(t.upward()), engine.Format(format)),
				Down: e.Script(statementsOf(t.downward()), engine.Format(format)),
			})
		}
	}
	return migrationfile.Write(dir, engine.Format(format), migrations)
}

// WriteLeaseTable writes the migration that creates the table of package
// sqllease, for those who do not let their applications do it. dialect is
// "sqlite", "mysql" or "postgres"; dir and format are as in [Plan.WriteFiles],
// opts and dialect as in [sqllease.DDL]. Its name ends with snowflake_lease.
func WriteLeaseTable(dir string, format Format, dialect string, opts ...sqllease.Option) error {
	if _, err := engineOf(dialect); err != nil {
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
	return writeMigration(dir, format, dialect, "snowflake_lease", ddl, "DROP TABLE IF EXISTS "+table, leaseWarning)
}

// WriteMigration writes a migration of one statement up and one down, whose name ends with
// name. dir, format and dialect are as in [WriteLeaseTable].
func WriteMigration(dir string, format Format, dialect, name, up, down string) error {
	return writeMigration(dir, format, dialect, name, up, down, "")
}

func writeMigration(dir string, format Format, dialect, name, up, down, warning string) error {
	e, err := engineOf(dialect)
	if err != nil {
		return err
	}
	script := func(statement string) string { return e.Script([]Statement{{SQL: statement}}, engine.Format(format)) }
	return migrationfile.Write(dir, engine.Format(format), []migrationfile.Migration{{Name: name, Up: script(up), Down: warning + script(down)}})
}

const (
	createTable  = "CREATE TABLE IF NOT EXISTS "
	leaseWarning = "-- The table is the only record of which IDs may have been issued: stop every\n" +
		"-- program that leases a worker from it before it is dropped.\n"
)
