// Package parking chooses where to park counters such as AUTO_INCREMENT, and builds the
// statements that park them. MySQL, MariaDB and SQLite move such a counter past each
// larger key that is inserted. Its next value is therefore just above the generator's last
// ID, where the generator's next IDs are. To park a counter is to move it far above the
// generator's IDs. A SQLite counter without AUTOINCREMENT cannot be parked, so its table
// gets the trigger of package sqliteguard instead.
package parking

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Place is the range of keys in which counters are parked.
type Place struct {
	ID    types.ID  // the value to which a counter is moved, with room above it
	Until time.Time // the time at which the generator reaches ID
	Limit types.ID  // the largest ID of the next ten years; a counter above it is parked

	First, Last types.ID // bounds of the keys that parked counters assign
}

// NewPlace returns the place for IDs of the layout. It is above all IDs of at least the next
// ten years, or at the end of the layout if that comes earlier. It converts times to IDs by
// l.Max(t), which returns the largest ID that a generator can have issued until t.
func NewPlace(l snowflake.Layout) Place {
	const years = 10 // the least time for which a parked counter is above all IDs
	end, expires := time.Now().AddDate(years, 0, 0), l.Expires()
	if expires.Before(end) {
		end = expires
	}
	until := end.Add(expires.Sub(end) / 8 * 7)
	// until is 7/8 of the way from end to expires. So a process that starts a year later
	// computes an end that is a year later, but an until that is only 1/8 of a year later. The
	// ten years from first to until therefore contain the counters that processes of the last 80
	// years have parked. A parked counter then counts up from its place, into the year from
	// until to last.
	first, last := l.Max(until.AddDate(-years, 0, 0)), l.Max(until.AddDate(1, 0, 0))
	limit := l.Max(end)
	return Place{ID: l.Max(until), Until: until, Limit: limit, First: max(first, limit), Last: last}
}

// Holds reports whether the key is in the range from which parked counters assign keys.
func (p Place) Holds(key types.ID) bool { return p.First <= key && key <= p.Last }

// String describes a counter that is parked at the place.
func (p Place) String() string {
	return fmt.Sprintf("at %d, above all IDs until %d", p.ID, p.Until.Year())
}

// MySQL returns the statement that moves the counter of a table, so that the next row that is
// inserted without a key gets the value of next as its key. The server does not move the
// counter below the largest key. table is the quoted name.
func MySQL(table string, next types.ID) string {
	return "ALTER TABLE " + table + " AUTO_INCREMENT = " + next.String()
}

// counterOption finds the counter in the last line of SHOW CREATE TABLE, for example 17 in
// ") ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4". The line has no counter
// while the counter is at 1.
var counterOption = regexp.MustCompile(`(?m)^\) .*?\bAUTO_INCREMENT=(\d+)`)

// MySQLNext returns the next value of a counter. create is the result of SHOW CREATE TABLE,
// because the values in information_schema may be out of date.
func MySQLNext(create string) uint64 {
	next := uint64(1)
	if m := counterOption.FindStringSubmatch(create); m != nil {
		next, _ = strconv.ParseUint(m[1], 10, 64)
	}
	return next
}

// SQLite returns the statements that move the counter of a table with AUTOINCREMENT, so that
// the next row that is inserted without a key gets the key last+1. The first statement
// inserts the counter, because the table has no counter before its first row. schema is a
// quoted name and a dot, or empty. table is the name as an SQL literal, such as 'orders'.
func SQLite(schema, table string, last types.ID) []string {
	where := " WHERE name = " + table + " COLLATE NOCASE"
	return []string{
		"INSERT INTO " + schema + "sqlite_sequence (name, seq) SELECT name, 0 FROM " + schema + "sqlite_master" + where +
			" AND type = 'table' AND name NOT IN (SELECT name FROM " + schema + "sqlite_sequence)",
		"UPDATE " + schema + "sqlite_sequence SET seq = " + last.String() + where,
	}
}
