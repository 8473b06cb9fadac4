package copyrows

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// tableOf returns the parts of the table's name, such as a schema and a table.
func tableOf(stmt *gorm.Statement) ([]string, error) {
	if stmt.TableExpr == nil {
		return strings.Split(stmt.Table, "."), nil
	}
	parts := strings.Split(stmt.TableExpr.SQL, ".")
	for i, part := range parts {
		name := strings.Trim(part, "\"`")
		if name == "" || strings.ContainsAny(name, "\"`(?") || name == part && strings.ContainsAny(name, " \t\n") {
			return nil, fmt.Errorf("COPY wants the name of a table, got %s", stmt.TableExpr.SQL)
		}
		parts[i] = name
	}
	return parts, nil
}
