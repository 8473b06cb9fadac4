package check

import (
	"regexp"
	"strings"

	"gorm.io/gorm"
)

// KeepInRebuilds registers a callback that preserves a table's auto-increment counter, which
// may be parked, when GORM's migrator for SQLite rebuilds the table. The migrator rebuilds a
// table, for example, to add a CHECK or drop a column. It copies the rows into TABLE__temp,
// drops the table, and renames the copy. The counter of the copy would follow the largest
// key. The callback is on raw statements, because the migrator uses these. KeepInRebuilds
// does nothing on other databases, or if db already has the callback.
func KeepInRebuilds(db *gorm.DB) error {
	const name = "gormflake:rebuild"
	raw := db.Callback().Raw()
	if db.Name() != "sqlite" || raw.Get(name) != nil {
		return nil
	}
	return raw.Before("gorm:raw").Register(name, keepCounter)
}

// dropTable finds the table's name in the statement by which GORM drops a table, such as
// DROP TABLE `orders`.
var dropTable = regexp.MustCompile("^DROP TABLE [`\"](.+)[`\"]$")

// keepCounter copies the counter of a table to the copy TABLE__temp just before GORM drops the
// table. The counter is the column seq of the table sqlite_sequence. keepCounter ignores
// errors, because a database without counters has no such table.
func keepCounter(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || db.DryRun || !strings.HasPrefix(stmt.SQL.String(), "DROP TABLE ") {
		return
	}
	if m := dropTable.FindStringSubmatch(stmt.SQL.String()); m != nil {
		// Raise the copy's counter to the counter of the table, if the table has a counter.
		const query = "UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM sqlite_sequence WHERE name = ?)) WHERE name = ? AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)"
		table := m[1]
		_, _ = stmt.ConnPool.ExecContext(stmt.Context, query, table, table+"__temp", table)
	}
}
