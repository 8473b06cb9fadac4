package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// columnsCheck is the name of the check in findings.
const columnsCheck = "columns"

// checkColumns looks for columns that may refer to keys of the moved tables, whose keys are
// Snowflake IDs, and are too narrow for them.
func (d *doctor) checkColumns() {
	var keys []string // the keys of the moved tables, such as orders.id
	for i := range d.tables {
		t := &d.tables[i]
		if d.isMoved(t) {
			keys = append(keys, t.Column())
		}
	}
	options := d.knownReferences() // warns about wrong flags even if no table is moved
	if len(keys) == 0 {
		return
	}
	found, err := sqlmigrate.FindReferences(d.Ctx, d.DB, keys, options...)
	if err != nil {
		d.warnUnchecked(columnsCheck, "", flags.Named(err))
		return
	}
	// Column worker_id of the table of workers is no reference, though its name looks like it.
	found = slices.DeleteFunc(found, func(l sqlmigrate.LikelyReference) bool {
		table, isWorker := strings.CutSuffix(l.Column, ".worker_id")
		return isWorker && d.isLeaseTable(table)
	})
	for _, l := range found {
		d.reportColumn(&l)
	}
	if len(found) == 0 {
		d.report.ok(columnsCheck, "", fmt.Sprintf("no column that may hold keys of %s is too narrow for a Snowflake ID", terminal.Counted(len(keys), "moved table", "moved tables")))
	}
}

// knownReferences returns the options for the flags --reference and --not-reference whose
// columns exist. It adds a warning for each flag whose column does not exist.
func (d *doctor) knownReferences() []sqlmigrate.Option { return d.withExistingColumn(d.references) }

// withExistingColumn returns the options whose columns exist, and warns about the other
// options. It checks all options by one call, because a call takes as long for one option as
// for hundreds. If the call fails, it checks each half of the options by itself, until a half
// is the single option that is wrong.
func (d *doctor) withExistingColumn(options []sqlmigrate.Option) []sqlmigrate.Option {
	if len(options) == 0 {
		return nil
	}
	_, err := sqlmigrate.FindReferences(d.Ctx, d.DB, nil, options...)
	switch half := len(options) / 2; {
	case err == nil:
		return options
	case len(options) == 1:
		d.report.warn(columnsCheck, "", terminal.OneLine(flags.Named(err)), "correct the flag, or leave it out")
		return nil
	default:
		return slices.Concat(d.withExistingColumn(options[:half]), d.withExistingColumn(options[half:]))
	}
}

// reportColumn reports a column that may hold keys and is too narrow for them. The fix is the
// command whose plan widens the column. If no plan can widen it, for example because it is an
// array, the fix is l.Change, which says how to do it.
func (d *doctor) reportColumn(l *sqlmigrate.LikelyReference) {
	key := "TABLE.KEY" // in the command, for the user to replace if the key is not known
	keys := "keys"     // in the text of the finding
	if len(l.Keys) > maxNames {
		keys = fmt.Sprintf("any of %d keys", len(l.Keys))
	} else if len(l.Keys) > 0 {
		key = l.Keys[0]
		keys = strings.Join(l.Keys, " or ")
	}
	fix := l.Change
	if fix == "" {
		// The part of the key before its last dot is the table.
		fix = fmt.Sprintf("gormflake migrate plan %s %s", flags.Reference(l.Column, key), key[:strings.LastIndex(key, ".")])
	}
	d.report.problem(columnsCheck, l.Column,
		fmt.Sprintf("it is %s, too narrow for a Snowflake ID, and may hold %s, by %s", l.Type, keys, l.Reason),
		fix+"; if it holds no keys, "+flags.NotReference(l.Column))
}
