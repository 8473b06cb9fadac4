package doctor

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

const (
	clockCheck = "clock"

	clockProbes  = 5 // number of times that the server's clock is read
	clockWarning = 500 * time.Millisecond
	clockProblem = time.Minute
)

// checkClock compares the clocks of this machine and the server. A difference does not
// cause duplicate IDs, but the times in IDs are wrong, and a process may wait for a
// worker that is free.
func (d *doctor) checkClock() {
	if d.Dialect == "sqlite" {
		d.report.ok(clockCheck, "", "SQLite runs in this process and has this machine's clock")
		return
	}
	d.compareClocks(d.Clock)
}

// compareClocks compares this machine's clock with the server's clock, which readClock reads.
// It is not known exactly when the server has read its clock, so the measured difference has a
// margin of error. compareClocks subtracts the margin before it decides whether the difference
// is a warning or a problem.
func (d *doctor) compareClocks(readClock func() (time.Time, error)) {
	ahead, margin, err := d.measureClock(readClock)
	if err != nil {
		d.warnUnchecked(clockCheck, "", err)
		return
	}
	text := fmt.Sprintf("this machine's clock is %s the database's, measured within %v", terminal.Difference(ahead), terminal.Rounded(margin))
	switch certain := ahead.Abs() - margin; { // the least difference that is possible
	case certain >= clockProblem:
		d.report.problem(clockCheck, "", text, "synchronise both clocks, as by NTP; until then times in IDs are wrong, and leased workers seem held or free when they are not")
	case certain >= clockWarning:
		d.report.warn(clockCheck, "", text, "synchronise both clocks, as by NTP")
	default:
		d.report.ok(clockCheck, "", text)
	}
}

// measureClock returns how far this machine's clock is ahead of the server's clock, and
// margin, the largest error of this value. It calls readClock several times, and uses the
// fastest answer. It assumes that the server read its clock halfway between question and
// answer, so the error is at most half of the time between them.
func (d *doctor) measureClock(readClock func() (time.Time, error)) (ahead, margin time.Duration, err error) {
	for probe := range clockProbes {
		before := d.flags.now()
		serverTime, err := readClock()
		if err != nil {
			return 0, 0, err
		}
		half := d.flags.now().Sub(before) / 2
		if probe == 0 || half < margin {
			ahead, margin = before.Add(half).Sub(serverTime), half
		}
	}
	return ahead, margin, nil
}

// settingsCheck is the name of the check in findings.
const settingsCheck = "settings"

// A setting is a possible finding about the settings of a server. It is a finding if found is
// true, for example because fsync is off.
type setting struct {
	found              bool
	severity           severity
	subject, text, fix string
}

// checkSettings looks for settings under which the database can lose writes that it has
// acknowledged.
func (d *doctor) checkSettings() {
	checks := map[string]func() ([]setting, error){"postgres": d.postgresSettings, "mysql": d.mysqlSettings, "sqlite": d.sqliteSettings, "TiDB": d.tidbSettings}
	// The dialect mysql is for MySQL, MariaDB and TiDB. Only for TiDB is d.Engine not empty.
	settings, err := checks[cmp.Or(d.Engine, d.Dialect)]()
	if err != nil {
		d.warnUnchecked(settingsCheck, "", err)
		return
	}
	settings = slices.DeleteFunc(settings, func(s setting) bool { return !s.found })
	for _, s := range settings {
		d.report.add(finding{s.severity, settingsCheck, s.subject, s.text, s.fix})
	}
	switch {
	case len(settings) > 0:
	case d.Engine != "":
		d.report.ok(settingsCheck, "", "the server is "+d.Engine+", whose settings do not show what it forgets; leases that are kept there want lease.WithSettle")
	default:
		d.report.ok(settingsCheck, "", "the server keeps what it has acknowledged")
	}
}

// postgresSettingsSQL queries whether each of three settings is safe, whether the server is a
// standby, and whether the table of workers is unlogged or temporary. A permanent table has
// relpersistence 'p'. The last value is false if there is no table of workers.
const postgresSettingsSQL = `SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
  current_setting('synchronous_commit') <> 'off', pg_is_in_recovery(),
  coalesce((SELECT relpersistence <> 'p' FROM pg_class WHERE oid = to_regclass($1)), false)`

// postgresSettings checks the settings of PostgreSQL and the kind of the table of workers.
func (d *doctor) postgresSettings() ([]setting, error) {
	var fsync, pages, commit, standby, unlogged bool // the first three are true if the setting is safe
	table := d.Quote(d.leaseTable())
	err := d.Ask(postgresSettingsSQL, []any{table}, &fsync, &pages, &commit, &standby, &unlogged)
	return []setting{ // each with found, severity, subject, text and fix
		{!fsync, warning, "fsync", "it is off, which forgets (or ruins the database) when the machine dies", "set it to on"},
		{!pages, warning, "full_page_writes", "it is off, which can ruin the database when the machine dies", "set it to on"},
		{!commit, warning, "synchronous_commit", "it is off, which forgets the last rows when the server dies; workers are leased with it on all the same", "set it to on, unless the rows may be lost"},
		{standby, warning, "", "the server is a standby, which lags behind: this report may be old", "give the DSN of the primary (target_session_attrs=read-write)"},
		{unlogged, problem, table, "it is unlogged or temporary, and empty after a crash: workers would be leased twice", "ALTER TABLE " + table + " SET LOGGED"},
	}, err
}

// mysqlSettingsSQL queries the settings of the server and the ENGINE of the table of workers,
// which is NULL if there is no table. If there is no binary log, sync_binlog has no effect,
// and the query returns 1, which is safe.
const mysqlSettingsSQL = `SELECT @@GLOBAL.innodb_flush_log_at_trx_commit,
  CASE WHEN @@GLOBAL.log_bin THEN @@GLOBAL.sync_binlog ELSE 1 END, @@SESSION.autocommit,
  (SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?)`

// mysqlSettings checks the settings of MySQL or MariaDB and the engine of the table of
// workers.
func (d *doctor) mysqlSettings() ([]setting, error) {
	var flush, syncLog int
	var autocommit bool
	var engine sql.NullString
	schema, name := d.leaseTable()
	err := d.Ask(mysqlSettingsSQL, []any{schema, name}, &flush, &syncLog, &autocommit, &engine)
	table := d.Quote(schema, name)
	const flushName = "innodb_flush_log_at_trx_commit"
	return []setting{ // each with found, severity, subject, text and fix
		{flush == 0, problem, flushName, "it is 0, which forgets up to a second of writes when the server dies", "set it to 1"},
		{flush == 2, warning, flushName, "it is 2, which forgets up to a second of writes when the machine dies", "set it to 1"},
		{syncLog != 1, warning, "sync_binlog", fmt.Sprintf("it is %d and log_bin is on, which forgets the last writes when the machine dies", syncLog), "SET GLOBAL sync_binlog = 1, and set it in the option file"},
		noAutocommit(autocommit),
		{engine.Valid && !strings.EqualFold(engine.String, "InnoDB"), problem, table, "it has the engine " + engine.String + ", which can forget writes", "ALTER TABLE " + table + " ENGINE=InnoDB"},
	}, err
}

// tidbSettings checks the settings of TiDB. It omits the settings of InnoDB, which exist
// in TiDB without effect.
func (d *doctor) tidbSettings() ([]setting, error) {
	var autocommit bool
	err := d.Ask("SELECT @@SESSION.autocommit", nil, &autocommit)
	return []setting{noAutocommit(autocommit)}, err
}

// noAutocommit returns the setting that is a problem unless autocommit is on.
func noAutocommit(autocommit bool) setting {
	return setting{!autocommit, problem, "autocommit", "it is 0, under which no worker can be leased", "remove it from the DSN or the server's settings"}
}

// sqliteSettings checks PRAGMA synchronous of this connection. An SQLite file does not store
// the value, so the DSN has set it.
func (d *doctor) sqliteSettings() ([]setting, error) {
	var synchronous int // 0 is OFF
	err := d.Ask("PRAGMA synchronous", nil, &synchronous)
	return []setting{
		{synchronous == 0, problem, "synchronous", "this DSN sets it to OFF, which forgets (or ruins the file) when the machine loses power", "set it to FULL"},
	}, err
}
