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
	// of the server. By its LEFT JOIN the statement returns a row for the server even if
	// there is no record. The table and the condition of the join follow it.
	selectSQL = `SELECT worker_id, bound, owner, server.standby, server.clock
FROM (SELECT %s AS standby, %s AS clock) AS server LEFT JOIN `

	// insertSQL adds a record, and updateSQL replaces it if it has the given bound and owner,
	// in databases whose placeholder is a question mark.
	insertSQL = "INSERT INTO %s (namespace, worker_id, bound, owner) VALUES (?, ?, ?, ?)"
	updateSQL = "UPDATE %s SET bound = ?, owner = ? WHERE namespace = ? AND worker_id = ? AND bound = ? AND owner = ?"
)

// The session variable sql_select_limit of MySQL limits each SELECT without a LIMIT. These
// limits override it.
const (
	noLimit = " LIMIT 9223372036854775807" // for statements that need all rows
	oneRow  = " LIMIT 1"                   // also for statements without a table, because sql_select_limit may be 0
)

// readStatement returns a statement that reads records, for the dialect's load or get as
// format. Into format it puts the SQL expressions for whether the server is a standby and
// for its time, and the table. If the dialect lacks an expression, 0 means that the server
// is no standby, and NULL that there is no clock.
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
