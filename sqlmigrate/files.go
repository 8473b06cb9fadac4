package sqlmigrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/migrationfile"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/pgonline"
	"github.com/gormflake/gormflake/sqlmigrate/internal/run"
)

// A Format is the file format of a migration tool.
type Format string

// The formats.
const (
	GolangMigrate Format = "golang-migrate" // github.com/golang-migrate/migrate: pairs of NNN_name.up.sql and NNN_name.down.sql
	Goose         Format = "goose"          // github.com/pressly/goose: NNN_name.sql
	Atlas         Format = "atlas"          // ariga.io/atlas: NNN_name.sql, and in folder down the way back, which Atlas does not run
)

// WriteFiles writes a migration for each transaction of each phase: a file for goose, a
// pair of files for golang-migrate and Atlas. For Atlas, run "atlas migrate hash"
// afterwards, which updates atlas.sum. The versions are timestamps: the present time in
// UTC, or a later time if dir has a newer file. If the files in dir are numbered, such as
// 000012_name.up.sql, the versions are the next numbers. The names end with
// snowflake_widen, snowflake_detach, snowflake_guard and snowflake_park; further
// transactions of a phase have a number, such as snowflake_guard_2.
//
// WriteFiles creates dir if it does not exist. It returns an error if the plan has
// blockers or is empty, or if dir has the same migration under another version. It also
// returns an error if dir has pairs of golang-migrate and format is another, or the
// reverse. It never overwrites a file. After an error there are no new files.
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
		// Each transaction is a file of its own, because the tools run a file in a
		// transaction.
		for i, t := range run.Transactions(&phase) {
			name := "snowflake_" + string(phase.Name)
			if i > 0 {
				name += "_" + strconv.Itoa(i+1)
			}
			migrations = append(migrations, migrationfile.Migration{
				Name: name,
				Up:   e.Script(t.Up(), engine.Format(format)),
				Down: e.Script(t.Down(), engine.Format(format)),
			})
		}
	}
	return migrationfile.Write(dir, engine.Format(format), migrations)
}

// WriteLeaseTable writes the migration that creates the table of package sqllease, for
// applications that may not create tables themselves. dialect is "sqlite", "mysql" or
// "postgres"; dir and format are as for [Plan.WriteFiles], opts and dialect as for
// [sqllease.DDL]. The name of the migration ends with snowflake_lease.
func WriteLeaseTable(dir string, format Format, dialect string, opts ...sqllease.Option) error {
	if _, err := engineOf(dialect); err != nil {
		return err
	}
	ddl, err := sqllease.DDL(dialect, opts...)
	if err != nil {
		return fmt.Errorf("sqlmigrate: %w", err)
	}
	// The down file drops the table, whose quoted name is between createTable and the
	// columns.
	ddl = strings.TrimSuffix(strings.TrimSpace(ddl), ";")
	table, _, ok := strings.Cut(strings.TrimPrefix(ddl, createTable), " (")
	if !ok || !strings.HasPrefix(ddl, createTable) {
		return fmt.Errorf("sqlmigrate: no table is created by %q", ddl)
	}
	return writeMigration(dir, format, dialect, "snowflake_lease", ddl, "DROP TABLE IF EXISTS "+table, leaseWarning)
}

// WriteStage writes a short stage of an [OnlinePlan] of PostgreSQL as a migration, for
// deployments in which only a migration tool may change the schema. The stage is
// [StagePrepare], [StageSwap] or [StageFinish]. The name of the migration ends with
// snowflake_online_ and the stage; dir and format are as for [Plan.WriteFiles].
//
// Between prepare and swap, run the other stages with [OnlinePlan.Apply]; before they are
// done, the file of swap fails and changes nothing. To go back, call [OnlinePlan.Revert]
// first, because the down part of a file fails otherwise. For prepare, db must have the
// same schema as all databases in which the file will run.
func (p *Plan) WriteStage(ctx context.Context, db *gorm.DB, stage StageName, dir string, format Format) error {
	if p.Dialect != "postgres" {
		return fmt.Errorf("sqlmigrate: stages in files need PostgreSQL: carry out stage %s with OnlinePlan.Apply", stage)
	}
	if !slices.Contains(pgonline.InFiles, stage) {
		return fmt.Errorf("sqlmigrate: stage %q: want one of %q", stage, pgonline.InFiles)
	}
	tables := p.onlineTables()
	if stage == StageFinish { // after the swap no column is left to widen, so onlineTables would return no table
		tables = p.Tables
	}
	// The file of stage prepare contains the plan. The files of swap and finish read their
	// statements from the journal that the file of prepare has filled. Without tables there is
	// no plan, and StageFile returns an error.
	var online *engine.OnlinePlan
	if stage == StagePrepare && len(tables) > 0 {
		o, err := p.Online(ctx, db)
		if err == nil {
			err = o.Err()
		}
		if err != nil {
			return err
		}
		online = &o.move.Plan
	}
	up, down, err := pgonline.StageFile(stage, tables, online)
	if err != nil {
		return err
	}
	return writeMigration(dir, format, p.Dialect, "snowflake_online_"+string(stage), up, down, "")
}

// writeMigration writes a migration of one statement in each direction. warning is a SQL
// comment at the beginning of the down part, or empty.
func writeMigration(dir string, format Format, dialect, name, up, down, warning string) error {
	e, err := engineOf(dialect)
	if err != nil {
		return err
	}
	script := func(statement string) string { return e.Script([]Statement{{SQL: statement}}, engine.Format(format)) }
	return migrationfile.Write(dir, engine.Format(format), []migrationfile.Migration{{Name: name, Up: script(up), Down: warning + script(down)}})
}

const (
	// createTable begins the statement of [sqllease.DDL]; the quoted name of the table
	// follows.
	createTable = "CREATE TABLE IF NOT EXISTS "
	// leaseWarning begins the down file of [WriteLeaseTable].
	leaseWarning = "-- The table is the only record of which IDs may have been issued: stop every\n" +
		"-- program that leases a worker from it before it is dropped.\n"
)
