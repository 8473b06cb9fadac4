package likely

import (
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Key is a column whose values are Snowflake IDs, or will be.
type Key struct {
	Table  plan.TableName
	Column string
}

func (k Key) String() string { return k.Table.String() + "." + plan.QuoteDotted(k.Column) }

// columnOf returns a column with its names in lower case, so that names from different
// sources are equal.
func columnOf(table plan.TableName, name string) Key {
	return Key{plan.TableName{Schema: strings.ToLower(table.Schema), Name: strings.ToLower(table.Name)}, strings.ToLower(name)}
}
