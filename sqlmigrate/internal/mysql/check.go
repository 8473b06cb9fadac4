package mysql

import (
	"fmt"
	"strings"
)

// On MariaDB a CHECK can stand with a column, and a MODIFY takes it away unless
// it repeats it. The catalog names such a one after its column. MySQL has only
// constraints of the table, which a MODIFY leaves alone.

const checks = "FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s"

// readChecks takes the text of each CHECK, by its name in small letters.
func (in *inspection) readChecks(t *table) error {
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

func (t *table) fromChecks() string {
	return fmt.Sprintf(checks, schemaOf(t.name), literal(t.name.Name))
}

func (c *column) fromChecks() string {
	return c.table.fromChecks() + " AND CONSTRAINT_NAME = " + literal(c.name)
}

// countsChecks are conditions: the column has as many as when it was inspected.
func (c *column) countsChecks() []string {
	if c.table.checks == nil {
		return nil
	}
	return []string{fmt.Sprintf("(SELECT COUNT(*) = %d %s)", len(c.checks()), c.fromChecks())}
}

// repeatsChecks are conditions: what they say is the same too. That holds until
// a type changes, when the server writes 1000 for 1e3.
func (c *column) repeatsChecks() []string {
	if len(c.checks()) == 0 {
		return nil
	}
	same := make([]string, len(c.checks()))
	for i, is := range c.checks() {
		same[i] = exactly("CHECK_CLAUSE", is)
	}
	return []string{fmt.Sprintf("(SELECT SUM(%s) = %d %s)", strings.Join(same, " OR "), len(same), c.fromChecks())}
}

func (c *column) checks() []string { return c.table.checks[strings.ToLower(c.name)] }
