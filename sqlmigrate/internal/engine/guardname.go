package engine

import (
	"strings"

	"gorm.io/gorm/schema"
)

// GuardName returns the name of the CHECK that keeps a key positive, for example
// chk_orders_id. It is the name that GORM gives to the CHECK of a model with the tag
// check:id > 0, so that AutoMigrate does not add a second one. free reports whether a new
// CHECK can have a name, for example because no other CHECK has it. While the name is not
// free, GuardName appends "_positive" to the column, for example chk_orders_id_positive.
// longest is the length after which the database cuts a name.
func GuardName(table, column string, longest int, free func(name string) bool) string {
	for ; ; column += "_positive" {
		// GORM cuts a long name at a byte, which can leave a part of a character.
		name := strings.ToValidUTF8(schema.NamingStrategy{IdentifierMaxLength: longest}.CheckerName(table, column), "")
		if free(name) {
			return name
		}
	}
}
