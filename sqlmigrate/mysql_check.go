package sqlmigrate

import (
	"fmt"
	"strings"
)

// On MariaDB a CHECK can stand with a column, and a MODIFY takes it away unless
// it repeats it. The catalog names such a one after its column. MySQL has only
// those of the table, which a MODIFY leaves alone.

const mysqlChecks = "FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s"

// readChecks takes the text of each CHECK, by its name in small letters.
func (in *mysqlInspection) readChecks(t *mysqlTable) error {
	if !in.mariadb {
		return nil
	}
	t.checks = map[string][]string{}
	query := "SELECT CONSTRAINT_NAME, CHECK_CLAUSE " + t.fromChecks() + " ORDER BY CONSTRAINT_NAME, CHECK_CLAUSE"
	return in.query(query, func(scan func(...any) error) error {
		var name, is string
		if err := scan(&name, &is); err != nil {
			return err
		}
		name = strings.ToLower(name)
		t.checks[name] = append(t.checks[name], is)
		return nil
	})
}

func (t *mysqlTable) fromChecks() string {
	return fmt.Sprintf(mysqlChecks, mysqlSchemaOf(t.name), mysqlLiteral(t.name.name))
}

// checks are those that the catalog has, unless it hides them from an account
// that may only read.
func (c *mysqlColumn) checks() (list []string, known bool) {
	list = c.table.checks[strings.ToLower(c.name)]
	return list, c.table.checks != nil && (len(list) > 0 || !c.definition.hasCheck())
}

// countsChecks are conditions: the column has as many as when it was inspected.
func (c *mysqlColumn) countsChecks() []string {
	list, known := c.checks()
	if !known {
		return nil
	}
	return []string{fmt.Sprintf("(SELECT COUNT(*) = %d %s AND CONSTRAINT_NAME = %s)", len(list), c.table.fromChecks(), mysqlLiteral(c.name))}
}

// repeatsChecks are conditions: what they say is the same too. It holds for the
// beginning of a first run only, because with any change of a table the server
// writes its CHECKs anew, such as 1000 for 1e3.
func (c *mysqlColumn) repeatsChecks() []string {
	list, known := c.checks()
	if !known || len(list) == 0 {
		return nil
	}
	same := make([]string, len(list))
	for i, is := range list {
		same[i] = mysqlExactly("CHECK_CLAUSE", is)
	}
	return []string{fmt.Sprintf("((SELECT SUM(%s) = %d %s AND CONSTRAINT_NAME = %s) OR %s)",
		strings.Join(same, " OR "), len(list), c.table.fromChecks(), mysqlLiteral(c.name), mysqlHasJournal)}
}
