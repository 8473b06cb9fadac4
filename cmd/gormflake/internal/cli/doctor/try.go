package doctor

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// checkTrial puts keys into copies of the moved tables, over a connection that is not
// set to read only, because that has no temporary objects.
func (d *doctor) checkTrial() {
	var tables []any
	for i := range d.tables {
		if t := &d.tables[i]; d.moved(t) && !d.isLeaseTable(t.String()) {
			tables = append(tables, t.String())
		}
	}
	if len(tables) == 0 {
		return
	}
	of := terminal.Counted(len(tables), "moved table", "moved tables")
	if !d.flags.try {
		d.report.ok(keysCheck, "", "no key was tried in "+of+": --try does that, in copies without rows")
		return
	}
	var rejected []sqlmigrate.Blocker
	var notes []string
	err := d.flags.database.With(d.Ctx, flags.ReadOnly, func(db *gorm.DB) (err error) {
		rejected, notes, err = sqlmigrate.TryKeys(d.Ctx, db, tables, append(d.references, sqlmigrate.WithLayout(d.layout))...)
		return err
	})
	if err != nil {
		d.unseen(keysCheck, "", flags.Named(err))
		return
	}
	for _, b := range rejected {
		d.report.problem(keysCheck, b.Table, b.Object+": "+b.Reason, b.Fix)
	}
	for _, note := range notes {
		d.report.ok(keysCheck, "", note)
	}
	if len(rejected)+len(notes) == 0 {
		d.report.ok(keysCheck, "", of+" and what is connected with them take keys of today, and the last one of the layout")
	}
}
