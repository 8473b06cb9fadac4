package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
)

const (
	usageCheck = "usage"

	// It is a warning if a key has used at least the part usageWarning of its numbers, and a
	// problem if it has used at least the part usageProblem.
	usageWarning = 0.75
	usageProblem = 0.90
)

// checkUsage reports how many of their numbers keys and sequences have used. It is a warning
// if a key or sequence has used at least the part usageWarning, and a problem if it has used
// at least the part usageProblem.
func (d *doctor) checkUsage() {
	for i := range d.tables {
		t := &d.tables[i]
		if err := d.measureKey(t); t.Narrow() { // for wide keys, checkKeys has reported the error already
			d.warnUnchecked(usageCheck, t.String(), err)
		}
	}
	d.warnUnchecked(usageCheck, "sequences", d.measureSequences())
	// The most used keys come first.
	slices.SortStableFunc(d.report.Usage, func(a, b usage) int { return cmp.Compare(b.Used, a.Used) })
	var names []string
	for _, u := range d.report.Usage {
		percent := math.Floor(100 * u.Used)
		names = append(names, fmt.Sprintf("%s %.0f %%", u.Name, percent))
		text := fmt.Sprintf("%.0f %% of its numbers are used, up to %.0f of %.0f", percent, u.Last, u.Limit)
		if u.Full != "" {
			text += "; at the present rate all are on " + u.Full
		}
		switch {
		case u.Used >= usageProblem:
			d.report.problem(usageCheck, u.Name, text, u.fix)
		case u.Used >= usageWarning:
			d.report.warn(usageCheck, u.Name, text, u.fix)
		}
	}
	if len(names) > 0 {
		d.report.ok(usageCheck, "", "of their numbers, keys and sequences have used: "+joinNames(names))
	}
}

// addUsage computes the used part, and adds the usage to the report.
func (d *doctor) addUsage(u usage) {
	u.Used = u.Last / u.Limit
	d.report.Usage = append(d.report.Usage, u)
}

// measureKey adds the usage of a table's key to the report. It leaves out Snowflake IDs,
// because they run out when the layout expires, which checkExpiry reports. The last number is
// the largest key. For a key narrower than BIGINT, the last number is the counter if this is
// larger. The counter of a BIGINT key is ignored, because it may be parked above all keys.
func (d *doctor) measureKey(t *readonly.Table) error {
	u := usage{Name: t.Column(), Limit: t.Limit, fix: "gormflake migrate plan " + t.String()}
	// Adding 0.0 makes the key a floating-point number, because an unsigned key may be
	// larger than an int64.
	err := d.Ask(fmt.Sprintf("SELECT COALESCE(MAX(%s) + 0.0, 0) FROM %s", d.Quote(t.Key), d.Quote(t.Schema, t.Name)), nil, &u.Last)
	if err != nil || u.Last >= float64(d.layout.Min(d.layout.Epoch.Add(minSinceEpoch))) {
		return err
	}
	if t.Narrow() {
		u.Last = max(u.Last, t.Counter)
		u.Full = d.fullDate(t, u.Last)
	}
	d.addUsage(u)
	return nil
}

// ageSQL is the SQL expression for the age in seconds of the time in a column, whose name
// replaces %s. SQLite needs no expression, because Table.Created is always empty there.
var ageSQL = map[string]string{
	"mysql":    "TIMESTAMPDIFF(SECOND, %s, NOW())",
	"postgres": "extract(epoch FROM now() - %s::timestamptz)",
}

// fullDate returns the date on which the numbers of a key run out at the present rate, which
// is the rate at which the newest tenth of the numbers was assigned. last is the last number
// that was assigned. fullDate reads the row with the largest key up to 90 % of last. The time
// since this row was created, and the number of keys since then, give the rate. fullDate
// returns "" if the table has no column with the time of creation, if the query fails, or if
// the date is more than a century away.
func (d *doctor) fullDate(t *readonly.Table, last float64) string {
	var key, age float64
	query := fmt.Sprintf("SELECT %[1]s, %[2]s FROM %[3]s WHERE %[1]s <= %.0[4]f ORDER BY %[1]s DESC LIMIT 1",
		d.Quote(t.Key), fmt.Sprintf(ageSQL[d.Dialect], d.Quote(t.Created)), d.Quote(t.Schema, t.Name), last*0.9)
	if t.Created == "" || d.Ask(query, nil, &key, &age) != nil || age <= 0 {
		return "" // without an error, because the date is only an addition to the finding
	}
	secondsLeft := age * (t.Limit - last) / (last - key) // age is the time for last - key numbers
	if secondsLeft > 100*365*24*60*60 {
		return ""
	}
	return d.flags.now().Add(time.Duration(secondsLeft * float64(time.Second))).UTC().Format(time.DateOnly)
}

// measureSequences adds the usage of the sequences to the report. It reads each sequence into
// a [readonly.Table], because the fields are similar. Counter is the last value of the
// sequence, Limit is its largest value, and Key is the name of the table that owns it.
// measureSequences skips TiDB, whose sequences cannot be selected from.
func (d *doctor) measureSequences() error {
	if d.Engine != "" {
		return nil
	}
	found, err := readonly.Rows(d.Database, sequencesSQL[d.Dialect], nil, func(s *readonly.Table) []any {
		return []any{&s.Schema, &s.Name, &s.Key, &s.Counter, &s.Limit}
	})
	for _, s := range found {
		fix := fmt.Sprintf("ALTER SEQUENCE %s AS bigint NO MINVALUE NO MAXVALUE", d.Quote(s.Schema, s.Name))
		switch {
		case d.Dialect == "mysql": // MariaDB, whose sequences have no type, and show their values only if selected from
			fix = strings.Replace(fix, " AS bigint", "", 1)
			err = errors.Join(err, d.Ask("SELECT next_not_cached_value - increment, IF(increment > 0, maximum_value, minimum_value) FROM "+d.Quote(s.Name), nil, &s.Counter, &s.Limit))
		case s.Key != "": // the sequence belongs to a column, which has to be widened too
			fix = "gormflake migrate plan " + (&readonly.Table{Schema: s.Schema, Name: s.Key}).String()
		}
		d.addUsage(usage{Name: "sequence " + s.String(), Last: s.Counter, Limit: s.Limit, fix: fix})
	}
	return err
}

// sequencesSQL has, for each dialect, the query for the schema, the name, the owner, the last
// value and the limit of each sequence. The owner is the table to whose column the sequence
// belongs, or empty.
//
// On PostgreSQL, serial columns (deptype 'a') and identity columns ('i') own sequences. If
// such a column has 2 or 4 bytes, the limit is at most the largest value of the column.
// Sequences that begin again at their end, or that the account may not read, are left out.
//
// On MariaDB, the query cannot read the last value and the limit, so its 0 and 1 only fill
// their places. measureSequences reads both from each sequence afterwards. MySQL and SQLite
// have no sequences.
var sequencesSQL = map[string]string{
	"sqlite": `SELECT 1 WHERE 0`,
	"mysql":  `SELECT '', TABLE_NAME, '', 0, 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'SEQUENCE' ORDER BY 2`,
	"postgres": `SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname, coalesce(t.relname, ''), coalesce(pg_sequence_last_value(c.oid), 0),
  CASE WHEN s.seqincrement > 0 THEN least(s.seqmax, 2::float8 ^ (8 * a.attlen - 1) - 1) ELSE s.seqmin END
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
LEFT JOIN pg_class t ON t.oid = d.refobjid
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attlen IN (2, 4)
WHERE n.nspname = ANY (current_schemas(false)) AND NOT s.seqcycle AND CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, 'SELECT, USAGE') END ORDER BY 1, 2`,
}
