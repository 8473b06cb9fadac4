package check

import (
	"regexp"
	"strings"

	"gorm.io/gorm"
)

// KeepInRebuilds registers a callback with which a table keeps its counter when GORM's
// migrator for SQLite rebuilds it, as for a new CHECK or a dropped column: it copies the
// rows into TABLE__temp, drops the table, and renames the copy, whose counter follows the
// largest key. The statements of the migrator are raw.
func KeepInRebuilds(db *gorm.DB) error {
	const name = "gormflake:rebuild"
	raw := db.Callback().Raw()
	if db.Name() != "sqlite" || raw.Get(name) != nil {
		return nil
	}
	return raw.Before("gorm:raw").Register(name, keepCounter)
}

var dropTable = regexp.MustCompile("^DROP TABLE [`\"](.+)[`\"]$")

// keepCounter gives the copy of a table its counter just before the table is dropped. It
// ignores the error of a database without counters.
func keepCounter(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || db.DryRun || !strings.HasPrefix(stmt.SQL.String(), "DROP TABLE ") {
		return
	}
	if m := dropTable.FindStringSubmatch(stmt.SQL.String()); m != nil {
		const query = "UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM sqlite_sequence WHERE name = ?)) WHERE name = ? AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)"
		_, _ = stmt.ConnPool.ExecContext(stmt.Context, query, m[1], m[1]+"__temp", m[1])
	}
}
