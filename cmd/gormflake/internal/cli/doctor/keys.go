package doctor

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/types"
)

const (
	keysCheck = "keys"

	// futureSlack is how far the time of a key may be ahead of this machine's clock. The clock
	// of the machine that issued the key may be ahead, and a generator whose clock steps back
	// a little continues from the time that it had reached before.
	futureSlack = time.Minute

	// minSinceEpoch is how long after the epoch the time of a key must be, so that the key
	// counts as a Snowflake ID. Smaller keys may come from a counter. In the default layout,
	// the smallest ID of this time is about 3.6e14, which no counter reaches.
	minSinceEpoch = 24 * time.Hour
)

// checkKeys reads the tables, and checks the smallest and the largest key of each table
// whose key is a BIGINT. Reading these two keys is fast, because the primary key has an
// index.
func (d *doctor) checkKeys() {
	var err error
	if d.tables, err = d.Tables(""); err != nil {
		d.warnUnchecked(keysCheck, "", err)
		return
	}
	d.noteSkip() // while d.tables still has the tables of --skip
	// The report says how many tables doctor can see, so wide also counts the tables of
	// --skip.
	wide := len(slices.DeleteFunc(slices.Clone(d.tables), func(t readonly.Table) bool { return t.Narrow() }))
	d.tables = slices.DeleteFunc(d.tables, func(t readonly.Table) bool { return slices.ContainsFunc(d.flags.skip, t.Is) })
	moved, before := 0, len(d.report.Findings) // number of tables with Snowflake IDs, and of findings so far
	for i := range d.tables {
		t := &d.tables[i]
		if t.Narrow() { // such a key cannot be a Snowflake ID
			continue
		}
		d.warnUnchecked(keysCheck, t.String(), d.checkKey(t))
		if t.Snowflake { // which checkKey has set
			moved++
			d.warnUnchecked(keysCheck, t.String(), d.checkAssigned(t))
		}
	}
	if len(d.report.Findings) == before {
		d.report.ok(keysCheck, "", fmt.Sprintf("%s with a BIGINT key can be seen, %d of them with Snowflake IDs; none is ahead of the clock", terminal.Counted(wide, "table", "tables"), moved))
	}
}

// checkAssigned reports a table of Snowflake IDs in which the database still assigns keys. If a
// program inserts a row without a key, the database then assigns a key instead of returning an
// error. On MySQL and SQLite, a generator may issue the same key. checkAssigned accepts a
// parked counter, which phase park of a move has set above all IDs.
func (d *doctor) checkAssigned(t *readonly.Table) (err error) {
	if !t.Assigned {
		return nil
	}
	// A counter of MySQL and SQLite moves past each larger key, so it would follow the IDs of
	// a generator. It is parked if its next key is above Limit, the largest ID of the next ten
	// years. A sequence of PostgreSQL does not follow keys, so phase park does not move it,
	// and nothing in the database shows whether it may assign keys. The user says so by
	// --park.
	var next uint64
	var create string
	switch d.Dialect {
	case "sqlite":
		err = d.Ask("SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = ?", []any{t.Name}, &next)
	case "mysql":
		err = d.Ask("SHOW CREATE TABLE "+d.Quote(t.Name), nil, new(string), &create)
		next = parking.MySQLNext(create)
	}
	if parked := next > uint64(d.place().Limit) || d.flags.refs.Park && d.Dialect == "postgres"; err == nil && !parked {
		d.report.problem(keysCheck, t.String(), fmt.Sprintf("its keys are Snowflake IDs, and the database still assigns %s where a program does not", t.Key),
			fmt.Sprintf("gormflake migrate plan %s, with --park while old programs run or models stay as they are", t))
	}
	return err
}

// place returns the range of keys, near the end of the layout, to which phase park moves
// counters. No generator reaches it for years.
func (d *doctor) place() parking.Place { return parking.NewPlace(d.layout) }

// noteSkip adds a note for each name of --skip that is not the name of a table, because a
// misspelled name does not skip the table that the user meant.
func (d *doctor) noteSkip() {
	for _, name := range d.flags.skip {
		if !slices.ContainsFunc(d.tables, func(t readonly.Table) bool { return t.Is(name) }) && !d.isLeaseTable(name) {
			d.report.ok(keysCheck, name, "it is not skipped: no table of this name has an integer key, or workers")
		}
	}
}

// checkKey reports keys of the table that a generator cannot have issued by now, because they
// are not positive, are ahead of the clock or are not numbers of 64 bits. It also sets
// t.Snowflake, which says whether the largest key looks like a Snowflake ID.
func (d *doctor) checkKey(t *readonly.Table) error {
	var smallest, largest sql.NullString
	query := fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %[2]s", d.Quote(t.Key), d.Quote(t.Schema, t.Name))
	if err := d.Ask(query, nil, &smallest, &largest); err != nil || !largest.Valid { // NULL if the table is empty
		return err
	}
	if smallest.String == "0" || strings.HasPrefix(smallest.String, "-") {
		d.report.problem(keysCheck, t.String(), fmt.Sprintf("its smallest %s, %s, is not positive: no generator issues that, so a program or another layout did", t.Key, smallest.String),
			"give the row another key; if the keys are not Snowflake IDs, --skip "+t.String())
	}
	key, err := strconv.ParseInt(largest.String, 10, 64)
	if err != nil {
		d.report.problem(keysCheck, t.String(), fmt.Sprintf("its largest %s, %q, is not an ID", t.Key, largest.String), "correct the row, or leave the table out with --skip "+t.String())
		return nil
	}
	// A key of a parked counter is above all IDs that a generator issues for years, so it would
	// seem to be ahead of the clock. Look for the largest key below such keys instead.
	if first := d.place().First; d.place().Holds(types.ID(key)) {
		below := fmt.Sprintf("SELECT COALESCE(MAX(%[1]s), 0) FROM %[2]s WHERE %[1]s < %[3]d", d.Quote(t.Key), d.Quote(t.Schema, t.Name), first)
		if err := d.Ask(below, nil, &key); err != nil {
			return err
		}
	}
	// A smaller key may come from a counter that is not parked.
	t.Snowflake = types.ID(key) >= d.layout.Min(d.layout.Epoch.Add(minSinceEpoch))
	return d.checkFuture(t, types.ID(key))
}

// checkFuture reports how many rows have keys that are ahead of the clock. largest is the
// largest key that does not come from a parked counter, so rows with larger keys do not count.
// The query reads only the rows that it counts, from the index of the primary key.
func (d *doctor) checkFuture(t *readonly.Table, largest types.ID) error {
	now := d.flags.now()
	limit := d.layout.Max(now.Add(futureSlack))
	if largest <= limit {
		return nil
	}
	var rows int
	query := fmt.Sprintf("SELECT COUNT(*) FROM %[2]s WHERE %[1]s > %[3]d AND %[1]s <= %[4]d", d.Quote(t.Key), d.Quote(t.Schema, t.Name), limit, largest)
	if err := d.Ask(query, nil, &rows); err != nil {
		return err
	}
	at := d.layout.Time(largest)
	d.report.problem(keysCheck, t.String(),
		fmt.Sprintf("%s of the future: the largest %s, %d, is of %s, %s ahead of the clock: a generator had a wrong clock, another layout or lease.WithMaxAhead",
			terminal.Counted(rows, "row has a key", "rows have keys"), t.Key, largest, at.Format(time.RFC3339), terminal.Span(at.Sub(now))),
		"correct the clock, and give the rows other keys as docs/runbooks.md shows; or give doctor the layout of these keys; if they are not Snowflake IDs, --skip "+t.String())
	return nil
}

// checkTrial inserts keys into empty copies of the moved tables, with --try, and reports
// objects that reject the keys, such as a CHECK constraint. Without --try it only notes that
// this was not done. It opens a second connection, because a connection that is set to read
// only cannot create the copies.
func (d *doctor) checkTrial() {
	var tables []any // the moved tables, in the form that package sqlmigrate accepts
	for i := range d.tables {
		// The table of workers holds no IDs.
		if t := &d.tables[i]; d.isMoved(t) && !d.isLeaseTable(t.String()) {
			tables = append(tables, t.String())
		}
	}
	if len(tables) == 0 {
		return
	}
	subject := terminal.Counted(len(tables), "moved table", "moved tables")
	if !d.flags.try {
		d.report.ok(keysCheck, "", "no key was tried in "+subject+": --try does that, in copies without rows")
		return
	}
	var rejected []sqlmigrate.Blocker
	var notes []string
	// flags.ReadOnly concerns only the file of an SQLite database, whose copies are in memory.
	err := d.flags.database.With(d.Ctx, flags.ReadOnly, func(db *gorm.DB) (err error) {
		rejected, notes, err = sqlmigrate.TryKeys(d.Ctx, db, tables, append(d.references, sqlmigrate.WithLayout(d.layout))...)
		return err
	})
	if err != nil {
		d.warnUnchecked(keysCheck, "", flags.Named(err))
		return
	}
	for _, b := range rejected {
		d.report.problem(keysCheck, b.Table.String(), b.Object+": "+b.Reason, b.Fix)
	}
	for _, note := range notes {
		d.report.ok(keysCheck, "", note)
	}
	if len(rejected)+len(notes) == 0 {
		d.report.ok(keysCheck, "", subject+" and what is connected with them take keys of today, and the last one of the layout")
	}
}

// isMoved reports whether the table has been moved to Snowflake keys. This is so if its
// largest key is a Snowflake ID, or if the database does not assign its keys, as in a moved
// table that has no new row yet. The key must be a single BIGINT column.
func (d *doctor) isMoved(t *readonly.Table) bool {
	return (t.Snowflake || !t.Assigned) && !t.Narrow() && !t.Composite
}
