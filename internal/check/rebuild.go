package check

import (
	"regexp"
	"strings"

	"gorm.io/gorm"
)

// KeepInRebuilds registers a callback that preserves a table's counter when GORM's
// migrator for SQLite rebuilds the table, for example to add a CHECK or drop a column.
// The migrator copies the rows into TABLE__temp, drops the table, and renames the copy,
// whose counter would follow the largest key. The callback is on raw statements, because
// the migrator uses them.
func KeepInRebuilds(db *gorm.DB) error {
	const name = "gormflake:rebuild"
	raw := db.Callback().Raw()
	if db.Name() != "sqlite" || raw.Get(name) != nil {
		return nil
	}
	return raw.Before("gorm:raw").Register(name, keepCounter)
}

// dropTable matches the statement by which GORM drops a table, and finds the table's name.
var dropTable = regexp.MustCompile("^DROP TABLE [`\"](.+)[`\"]$")

// keepCounter copies the table's counter to its copy just before GORM drops the table. It
// ignores errors, because a database without counters has no table sqlite_sequence.
func keepCounter(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || db.DryRun || !strings.HasPrefix(stmt.SQL.String(), "DROP TABLE ") {
		return
	}
	if m := dropTable.FindStringSubmatch(stmt.SQL.String()); m != nil {
		const query = "UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM sqlite_sequence WHERE name = ?)) WHERE name = ? AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)"
		table := m[1]
		_, _ = stmt.ConnPool.ExecContext(stmt.Context, query, table, table+"__temp", table)
	}
}
