package engine

import (
	"strings"

	"gorm.io/gorm/schema"
)

// GuardName is what GORM names the CHECK of a model with check:id > 0, so that AutoMigrate
// does not add another one, or where that name is not free a longer one. longest is how
// much of a name the database keeps.
func GuardName(table, column string, longest int, free func(name string) bool) string {
	for ; ; column += "_positive" {
		// GORM cuts a name that is too long without regard to its characters.
		name := strings.ToValidUTF8(schema.NamingStrategy{IdentifierMaxLength: longest}.CheckerName(table, column), "")
		if free(name) {
			return name
		}
	}
}
