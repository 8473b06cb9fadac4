package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const (
	// probeSQL returns no row, and fails if the table or one of its columns is missing.
	probeSQL = "SELECT namespace, worker_id, bound, owner FROM %s WHERE 1 = 0"

	// loadSQL reads the records of a namespace. The dialect appends the placeholder of the
	// namespace, which is ? or $1.
	loadSQL = selectSQL + "%s ON namespace = "

	// selectSQL begins a statement that reads records together with the state and the clock
	// of the server. Because of the LEFT JOIN, the statement returns a row for the server
	// even if there is no record. The rest of the statement has the table and the condition
	// of the join.
	selectSQL = `SELECT worker_id, bound, owner, server.standby, server.clock
FROM (SELECT %s AS standby, %s AS clock) AS server LEFT JOIN `

	// insertSQL adds a record that does not exist yet, in databases whose placeholder is a
	// question mark. updateSQL replaces a record there, if the record still has the bound and
	// the owner that the last two placeholders give.
	insertSQL = "INSERT INTO %s (namespace, worker_id, bound, owner) VALUES (?, ?, ?, ?)"
	updateSQL = "UPDATE %s SET bound = ?, owner = ? WHERE namespace = ? AND worker_id = ? AND bound = ? AND owner = ?"
)

// The session variable sql_select_limit of MySQL limits each SELECT without a LIMIT. These
// limits override it.
const (
	noLimit = " LIMIT 9223372036854775807" // for statements that need all rows
	oneRow  = " LIMIT 1"                   // also for statements without a table, because sql_select_limit may be 0
)

// readStatement returns a statement that reads records. The format is the dialect's load or
// get. readStatement inserts the dialect's expressions standby and now, and the table. If the
// dialect has no standby, it inserts 0, which means that the server is not a standby. If the
// dialect has no clock, it inserts NULL.
func (d *dialect) readStatement(format string, t tableName) string {
	return fmt.Sprintf(format, cmp.Or(d.standby, "0"), cmp.Or(d.now, "NULL"), t.quoted)
}

// create returns the statement that creates the table.
func (d *dialect) create(t tableName) string {
	return fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
  namespace %s NOT NULL,
  worker_id %s NOT NULL,
  bound %s NOT NULL,
  owner %s NOT NULL,
  PRIMARY KEY (namespace, worker_id)
)%s;
`, t.quoted, d.typeOf("namespace"), d.typeOf("worker_id"), d.typeOf("bound"), d.typeOf("owner"), d.options)
}

// typeOf returns the SQL type of a column of the table.
func (d *dialect) typeOf(column string) string {
	switch column {
	case "namespace":
		return fmt.Sprintf(d.text, maxNamespace)
	case "owner":
		return fmt.Sprintf(d.text, maxOwner)
	case "bound":
		return "BIGINT"
	}
	return "INTEGER"
}

// withRecords returns the first of the schemas in which the table of that name has a row.
// It returns "" if all these tables are empty.
func (d *dialect) withRecords(ctx context.Context, on execer, schemas []string, name string) (string, error) {
	for _, schema := range schemas {
		var one int
		err := on.QueryRowContext(ctx, "SELECT 1 FROM "+d.qualified(schema, name).quoted+" LIMIT 1").Scan(&one)
		if err == nil {
			return schema, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return "", err
		}
	}
	return "", nil
}
