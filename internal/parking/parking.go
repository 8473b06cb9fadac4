// Package parking is about counters such as AUTO_INCREMENT, which MySQL, MariaDB and
// SQLite move past each larger key: to the generator's next ID. A parked counter is out
// of the generator's way. A counter of SQLite without AUTOINCREMENT cannot be parked, and
// its table gets a guard instead ([SQLiteGuard]).
package parking

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A Place is where to park counters.
type Place struct {
	ID    types.ID  // with room above it
	Until time.Time // when the generator gets to ID
	Limit types.ID  // the next value of a parked counter is larger

	First, Last types.ID // of the keys that parked counters give
}

// NewPlace returns the place for IDs of the layout.
func NewPlace(l snowflake.Layout) Place {
	const years = 10 // for which a parked counter must be above all IDs
	end, expires := time.Now().AddDate(years, 0, 0), l.Expires()
	if expires.Before(end) {
		end = expires
	}
	until := end.Add(expires.Sub(end) / 8 * 7)
	// The place moves by a year in eight.
	first, last := l.Max(until.AddDate(-years, 0, 0)), l.Max(until.AddDate(1, 0, 0))
	limit := l.Max(end)
	return Place{l.Max(until), until, limit, max(first, limit), last}
}

// Holds reports whether a key comes from a parked counter.
func (p Place) Holds(key types.ID) bool { return p.First <= key && key <= p.Last }

// String describes a counter at the place.
func (p Place) String() string {
	return fmt.Sprintf("at %d, above all IDs until %d", p.ID, p.Until.Year())
}

// MySQL is the statement that moves the counter of a table, whose name is quoted. The
// server keeps it above the largest key.
func MySQL(table string, next types.ID) string {
	return "ALTER TABLE " + table + " AUTO_INCREMENT = " + next.String()
}

// counterOption is last on its line but for other options of the table, and absent
// while the counter is at 1.
var counterOption = regexp.MustCompile(`(?m)^\) .*?\bAUTO_INCREMENT=(\d+)`)

// MySQLNext returns the next value of a counter from what SHOW CREATE TABLE has written:
// information_schema has old values.
func MySQLNext(create string) uint64 {
	next := uint64(1)
	if m := counterOption.FindStringSubmatch(create); m != nil {
		next, _ = strconv.ParseUint(m[1], 10, 64)
	}
	return next
}

// SQLite are the statements that move the counter of a table with AUTOINCREMENT, which
// has none before its first row. schema is empty, or quoted and ends with a dot; table
// is a literal.
func SQLite(schema, table string, last types.ID) []string {
	where := " WHERE name = " + table + " COLLATE NOCASE"
	return []string{
		"INSERT INTO " + schema + "sqlite_sequence (name, seq) SELECT name, 0 FROM " + schema + "sqlite_master" + where +
			" AND type = 'table' AND name NOT IN (SELECT name FROM " + schema + "sqlite_sequence)",
		"UPDATE " + schema + "sqlite_sequence SET seq = " + last.String() + where,
	}
}

// SQLiteGuardName is the name of a table's guard.
func SQLiteGuardName(table string) string { return table + "_snowflake_guard" }

// SQLiteGuard is the statement of the trigger by which a table refuses a row without a
// key. The option stands before the trigger's name, as "IF NOT EXISTS " does.
//
// In a trigger, NEW has the value -1 for a rowid that SQLite is going to assign. A key
// that is not the rowid would be NULL.
func SQLiteGuard(option, table, column string) string {
	message := fmt.Sprintf("table %s: key %s is missing or not positive: Snowflake IDs are assigned by the program, and no longer by the database", table, column)
	return fmt.Sprintf("CREATE TRIGGER %s%s BEFORE INSERT ON %s FOR EACH ROW WHEN coalesce(NEW.%s, 0) < 1 BEGIN SELECT RAISE(ABORT, '%s'); END",
		option, quote(SQLiteGuardName(table)), quote(table), quote(column),
		strings.ReplaceAll(strings.Join(strings.Fields(message), " "), "'", "''"))
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
