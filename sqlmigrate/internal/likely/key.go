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

// columnOf returns a column with its names in lower case, as a map key, because the
// catalog, the caller and the text of a view may write a name in different cases.
func columnOf(table plan.TableName, name string) Key {
	return Key{plan.TableName{Schema: strings.ToLower(table.Schema), Name: strings.ToLower(table.Name)}, strings.ToLower(name)}
}
