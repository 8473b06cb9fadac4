package doctor

import (
	"database/sql"
	"fmt"
	"strings"
)

const settingsCheck = "settings"

// checkSettings looks for settings under which the database forgets.
func (d *doctor) checkSettings() {
	before := len(d.report.Findings)
	var err error
	switch d.Dialect {
	case "postgres":
		err = d.postgresSettings()
	case "mysql":
		err = d.mysqlSettings()
	default:
		err = d.sqliteSettings()
	}
	if err != nil {
		d.unseen(settingsCheck, "", err)
	} else if len(d.report.Findings) == before {
		d.report.ok(settingsCheck, "", "the server keeps what it has acknowledged")
	}
}

// leaseTable is the table of the workers, which may have a schema.
func (d *doctor) leaseTable() (schema, name string) {
	schema, name, found := strings.Cut(d.flags.store.Table, ".")
	if !found {
		return "", schema
	}
	return schema, name
}

const postgresSettingsSQL = `SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
  current_setting('synchronous_commit') <> 'off', pg_is_in_recovery(),
  coalesce((SELECT relpersistence <> 'p' FROM pg_class WHERE oid = to_regclass($1)), false)`

func (d *doctor) postgresSettings() error {
	var fsync, pages, commit, standby, unlogged bool
	table := d.Quote(d.leaseTable())
	if err := d.Ask(postgresSettingsSQL, []any{table}, &fsync, &pages, &commit, &standby, &unlogged); err != nil {
		return err
	}
	if !fsync {
		d.report.warn(settingsCheck, "fsync", "it is off, which forgets (or ruins the database) when the machine dies", "set it to on")
	}
	if !pages {
		d.report.warn(settingsCheck, "full_page_writes", "it is off, which can ruin the database when the machine dies", "set it to on")
	}
	if !commit {
		d.report.warn(settingsCheck, "synchronous_commit", "it is off, which forgets the last rows when the server dies; workers are leased with it on all the same", "set it to on, unless the rows may be lost")
	}
	if standby {
		d.report.warn(settingsCheck, "", "the server is a standby, which lags behind: this report may be old", "give the DSN of the primary (target_session_attrs=read-write)")
	}
	if unlogged {
		d.report.problem(settingsCheck, table, "it is unlogged or temporary, and empty after a crash: workers would be leased twice", "ALTER TABLE "+table+" SET LOGGED")
	}
	return nil
}

const mysqlSettingsSQL = `SELECT @@GLOBAL.innodb_flush_log_at_trx_commit,
  CASE WHEN @@GLOBAL.log_bin THEN @@GLOBAL.sync_binlog ELSE 1 END, @@SESSION.autocommit,
  (SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?)`

func (d *doctor) mysqlSettings() error {
	var flush, syncLog int
	var autocommit bool
	var engine sql.NullString
	schema, name := d.leaseTable()
	if err := d.Ask(mysqlSettingsSQL, []any{schema, name}, &flush, &syncLog, &autocommit, &engine); err != nil {
		return err
	}
	const setting = "innodb_flush_log_at_trx_commit"
	switch flush {
	case 0:
		d.report.problem(settingsCheck, setting, "it is 0, which forgets up to a second of writes when the server dies", "set it to 1")
	case 2:
		d.report.warn(settingsCheck, setting, "it is 2, which forgets up to a second of writes when the machine dies", "set it to 1")
	}
	if syncLog != 1 {
		d.report.warn(settingsCheck, "sync_binlog", fmt.Sprintf("it is %d and log_bin is on, which forgets the last writes when the machine dies", syncLog), "SET GLOBAL sync_binlog = 1, and set it in the option file")
	}
	if !autocommit {
		d.report.problem(settingsCheck, "autocommit", "it is 0, under which no worker can be leased", "remove it from the DSN or the server's settings")
	}
	if engine.Valid && !strings.EqualFold(engine.String, "InnoDB") {
		table := d.Quote(schema, name)
		d.report.problem(settingsCheck, table, "it has the engine "+engine.String+", which can forget writes", "ALTER TABLE "+table+" ENGINE=InnoDB")
	}
	return nil
}

func (d *doctor) sqliteSettings() error {
	var synchronous int
	if err := d.Ask("PRAGMA synchronous", nil, &synchronous); err != nil {
		return err
	}
	if synchronous == 0 {
		d.report.problem(settingsCheck, "synchronous", "this DSN sets it to OFF, which forgets (or ruins the file) when the machine loses power", "set it to FULL")
	}
	return nil
}
