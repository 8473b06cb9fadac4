// Package doctor implements the command doctor, which looks for what endangers the keys of a
// database. [New] returns the command. A doctor runs the checks and collects their findings
// in a report.
package doctor

import (
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// doctorFlags holds the flags of the command, and the clock.
type doctorFlags struct {
	database flags.Database
	layout   flags.Layout
	store    flags.Store
	refs     flags.References
	skip     []string
	json     bool
	textfile string // the path of a file for metrics, or ""
	try      bool   // whether to insert keys into copies of tables
	now      func() time.Time
}

// A doctor is one run of the command.
type doctor struct {
	*readonly.Database // nil if the store is not a database
	flags              *doctorFlags
	report             report // the findings so far

	references []sqlmigrate.Option // the options for --reference and --not-reference

	// checkWorkers sets these layouts, and checkKeys the tables, for the checks after it.
	layout       snowflake.Layout // the layout of the flags, or of the leased workers if no flag sets one
	storedLayout snowflake.Layout // the layout of the leased workers; zero if no worker was leased
	tables       []readonly.Table // the tables with an integer key, without the tables of --skip
}

// warnUnchecked adds a warning that a subject, such as a table, could not be checked because
// of err. It returns at once if err is nil. check is the name of the check.
func (d *doctor) warnUnchecked(check, subject string, err error) {
	if err == nil {
		return
	}
	fix := "fix the error and run doctor again"
	if readonly.Denied(err) {
		fix = "grant the account SELECT on it, or take another account"
	}
	d.report.warn(check, subject, "could not be checked: "+terminal.OneLine(err), fix)
}

// leaseTable returns the table in which workers are leased, which --table names. schema is
// empty if the flag does not contain a schema.
func (d *doctor) leaseTable() (schema, name string) {
	dot := strings.IndexByte(d.flags.store.Table, '.') // -1 if there is no schema
	return d.flags.store.Table[:max(0, dot)], d.flags.store.Table[dot+1:]
}

// isLeaseTable reports whether name is the name of the table in which workers are leased,
// without a schema or with any schema.
func (d *doctor) isLeaseTable(name string) bool {
	_, table := d.leaseTable()
	return name == table || strings.HasSuffix(name, "."+table)
}
