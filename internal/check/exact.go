package check

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/internal/model"
)

// inexactText explains why a query for an ID in a text column finds other IDs too. A
// floating-point number has 53 bits, and an ID has up to 63.
const inexactText = "MySQL compares text with a number as floating point, so that IDs up to 128 apart are equal"

// comparesExactly reports whether the server compares text with a number exactly. MariaDB
// does. MySQL converts both to floating point. comparesExactly also returns true on SQLite
// and PostgreSQL, where the version is empty, because package check needs no such rule there.
func (t table) comparesExactly() bool {
	return t.version == "" || strings.Contains(t.version, "MariaDB")
}

// inexactReason returns the reason why a query for an ID also finds rows with other IDs, or
// "" if the server compares the column with the ID exactly. The driver sends the ID as a
// string if the field is a string, and otherwise as a number. live is nil if the table or the
// column does not exist. inexactReason skips serial numbers, because [typeHolds] rejects
// number columns for them.
func (c *checker) inexactReason(column *model.Column, live *liveColumn) string {
	if c.db.Name() != "mysql" || column.Serial != nil {
		return ""
	}
	name := column.Field.Schema.Table
	subject, t := "the column", c.typeOf(column, live)
	if live != nil {
		subject = fmt.Sprintf("column %s of table %s", column.Field.DBName, name)
	}
	switch text := column.Kind.IsString(); {
	case text && (t.name() == "decimal" || t.name() == "numeric"):
		return fmt.Sprintf("%s is %s, which the server compares with several strings as floating point, so that IDs up to 128 apart are equal: make it BIGINT or varchar(%d)", subject, t, model.IDDigits)
	case text || !t.isMySQLText() || c.readTable(name).comparesExactly():
		return ""
	}
	return fmt.Sprintf("%s is %s, and %s: make it BIGINT, or the field a string", subject, t, inexactText)
}

// mixedReason returns the reason why a join of a foreign key with its key also finds rows
// with other IDs, or "" if the server compares the two columns exactly. MySQL compares them
// as floating point if one column is text and the other is a number. mixedReason skips serial
// numbers, because [checker.checkHolds] rejects number columns for them.
func (c *checker) mixedReason(key, foreign *model.Column) string {
	if key.Serial != nil || c.readTable(foreign.Field.Schema.Table).comparesExactly() {
		return ""
	}
	to, err := c.findColumn(key)
	from, foreignErr := c.findColumn(foreign)
	if err != nil || foreignErr != nil {
		return "" // checkColumn and checkReference report these errors
	}
	keyType, foreignType := c.typeOf(key, to), c.typeOf(foreign, from)
	if keyType.isMySQLText() == foreignType.isMySQLText() {
		return ""
	}
	return fmt.Sprintf("the column is %s and that of the key %s, and %s: make both BIGINT", foreignType, keyType, inexactText)
}

// typeOf returns the type of the column in the table or, if the table does not exist, the
// type that AutoMigrate would give it.
func (c *checker) typeOf(column *model.Column, live *liveColumn) columnType {
	if live != nil {
		return live.dbType
	}
	defer model.ReadLock(column.Field.Schema)() // GORM may set the field's type at the same time
	return columnType(c.db.Migrator().FullDataTypeOf(column.Field).SQL)
}
