package check

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/internal/model"
)

const inexactText = "MySQL compares text with a number as floating point, so that IDs up to 128 apart are equal"

// compares reports whether the server compares text with a number as floating point, to
// which IDs up to 128 apart are equal. MySQL does, and MariaDB does not.
func (c *checker) compares() (bool, error) {
	version, err := c.version()
	return version != "" && !strings.Contains(version, "MariaDB"), err
}

// inexact returns why the server finds other IDs too when it compares the column with an
// ID as the field gives it, "" if it does not.
func (c *checker) inexact(column *model.Column, live *liveColumn) (string, error) {
	if c.db.Name() != "mysql" || column.Serial != nil {
		return "", nil
	}
	what, t := "the column", c.typeOf(column, live)
	if live != nil {
		what = fmt.Sprintf("column %s of table %s", column.Field.DBName, column.Field.Schema.Table)
	}
	switch text := column.Kind.IsString(); {
	case text && (t.name() == "decimal" || t.name() == "numeric"):
		return fmt.Sprintf("%s is %s, which the server compares with several strings as floating point, so that IDs up to 128 apart are equal: make it BIGINT or varchar(%d)", what, t, model.IDDigits), nil
	case text || !t.isMySQLText():
		return "", nil
	}
	inexact, err := c.compares()
	if err != nil || !inexact {
		return "", err
	}
	return fmt.Sprintf("%s is %s, and %s: make it BIGINT, or the field a string", what, t, inexactText), nil
}

// mixed returns why the server finds other IDs too when it compares a foreign key with
// its key, which it does in joins, "" if it does not.
func (c *checker) mixed(key, foreign *model.Column) (string, error) {
	inexact, err := c.compares()
	if err != nil || !inexact || key.Serial != nil {
		return "", err
	}
	to, err := c.live(key)
	from, foreignErr := c.live(foreign)
	if err != nil || foreignErr != nil {
		return "", nil // reported with the columns
	}
	keyType, foreignType := c.typeOf(key, to), c.typeOf(foreign, from)
	if keyType.isMySQLText() == foreignType.isMySQLText() {
		return "", nil
	}
	return fmt.Sprintf("the column is %s and that of the key %s, and %s: make both BIGINT", foreignType, keyType, inexactText), nil
}

// typeOf returns the type of the column in the table or, while that does not exist, of
// the column that AutoMigrate would make.
func (c *checker) typeOf(column *model.Column, live *liveColumn) columnType {
	if live != nil {
		return live.kind
	}
	defer model.ReadLock(column.Field.Schema)()
	return columnType(c.db.Migrator().FullDataTypeOf(column.Field).SQL)
}

// isMySQLText reports whether a column of MySQL holds text or bytes.
func (t columnType) isMySQLText() bool {
	name := t.name()
	return t.isText() || strings.HasSuffix(name, "text") || strings.HasSuffix(name, "blob") || name == "enum" || name == "set" || name == "json"
}
