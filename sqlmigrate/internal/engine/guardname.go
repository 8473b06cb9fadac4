package engine

import (
	"strings"

	"gorm.io/gorm/schema"
)

// GuardName returns the name of the CHECK that keeps a key positive. It is the name that
// GORM gives to the CHECK of a model with check:id > 0, so that AutoMigrate does not add
// a second one. If free reports that the name is taken, GuardName appends "_positive" to
// the column until it is free. longest is the length after which the database cuts a
// name.
func GuardName(table, column string, longest int, free func(name string) bool) string {
	for ; ; column += "_positive" {
		// GORM cuts a long name at a byte, which can leave a part of a character.
		name := strings.ToValidUTF8(schema.NamingStrategy{IdentifierMaxLength: longest}.CheckerName(table, column), "")
		if free(name) {
			return name
		}
	}
}
