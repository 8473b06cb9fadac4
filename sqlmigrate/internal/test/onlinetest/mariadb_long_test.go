package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// TestLongMariaDB moves large tables while programs use them, and fails if a transaction
// takes much longer than without the move. With a million rows it takes eight minutes on
// two cores. The server's log is large enough for all changes, because otherwise every
// program would wait for checkpoints, also without a move.
func TestLongMariaDB(t *testing.T) {
	runMariaDBLong(t, startMariaDB(t, "innodb_log_file_size=4G", "innodb_buffer_pool_size=512M"), "INNODB_SYS_TABLESPACES",
		"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_LSN_CURRENT'")
}

// TestLongMySQL moves large tables of MySQL while programs use them, and fails if a
// transaction takes much longer than without the move.
func TestLongMySQL(t *testing.T) {
	server := startMariaDBOrMySQL(t, testserver.MySQL, "log_bin_trust_function_creators=1", "innodb_redo_log_capacity=4G", "innodb_buffer_pool_size=512M")
	runMariaDBLong(t, server, "INNODB_TABLESPACES", "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.global_status WHERE VARIABLE_NAME IN ('Innodb_os_log_written')")
}

// longSequence returns a FROM clause with the numbers from 1 to rows, which must be a
// multiple of a thousand.
func longSequence(rows int) string {
	thousands := fmt.Sprintf("SELECT seq + 1000 * (t.n - 1) AS seq FROM s CROSS JOIN JSON_TABLE(CONCAT('[1', REPEAT(',1', %d), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) t)", rows/1000-1)
	return strings.Replace(sequence(1000), "SELECT seq FROM s)", thousands, 1)
}

// runMariaDBLong runs the test on a server. The parameters are the view with the sizes of
// the tables, and a query for the number of bytes that were logged.
func runMariaDBLong(t *testing.T, server *mariadbServer, tablespaces, logged string) {
	rows := longRows(t)
	from := longSequence(rows)
	d := server.database(
		t,
		"CREATE TABLE parents (id int AUTO_INCREMENT PRIMARY KEY, name varchar(100) NOT NULL)",
		"CREATE TABLE `lines` (id int AUTO_INCREMENT PRIMARY KEY, parent_id int NOT NULL, CONSTRAINT fk_line FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE CASCADE)",
		"CREATE TABLE notes (id int AUTO_INCREMENT PRIMARY KEY, parent_id int NOT NULL, CONSTRAINT fk_note FOREIGN KEY (parent_id) REFERENCES parents (id) ON DELETE CASCADE)",
		"INSERT INTO parents SELECT seq, CONCAT('parent ', seq)"+from,
		fmt.Sprintf("INSERT INTO `lines` SELECT seq, 1 + seq %% %d", rows)+from,
		fmt.Sprintf("INSERT INTO notes SELECT seq, 1 + seq %% %d", rows)+from,
		"ANALYZE TABLE parents, `lines`, notes",
	)
	longMove{
		db: d.DB, programs: mariadbOpen(t, d.dsn),
		write: mariadbLongWriter(rows), read: longReader(rows, "`lines`"), rows: rows,
		plan: func() *sqlmigrate.OnlinePlan { return d.onlineOf(t, longTables...) },
		size: func() string {
			return d.value(t, "SELECT ROUND(SUM(FILE_SIZE) / 1000000) FROM information_schema."+tablespaces+" WHERE NAME LIKE CONCAT(DATABASE(), '/%')")
		},
		log: func() string {
			return d.value(t, "SELECT ROUND(("+logged+") / 1000000)")
		},
	}.measure(t)
	d.want(t, "SELECT COUNT(*) FROM `lines` l LEFT JOIN parents p ON p.id = l.parent_id WHERE p.id IS NULL", "0")
	d.want(t, "SELECT COUNT(*) FROM notes n LEFT JOIN parents p ON p.id = n.parent_id WHERE p.id IS NULL", "0")
}

// mariadbLongWriter returns a function that runs mariadbLongWrite in a transaction. It
// ignores errors that a program also gets without a move.
func mariadbLongWriter(rows int) func(context.Context, *sql.Conn) error {
	write := longWriter(rows, mariadbLongWrite)
	return func(ctx context.Context, conn *sql.Conn) error {
		err := write(ctx, conn)
		if err != nil && expectedError.MatchString(err.Error()) {
			return nil
		}
		return err
	}
}

// mariadbLongWrite returns statements that change a parent, give a line another parent,
// insert a parent with children, and delete a note. row and other are the numbers of two
// random rows.
func mariadbLongWrite(row, other int) []string {
	return []string{
		fmt.Sprintf("UPDATE parents SET name = CONCAT(LEFT(name, 90), '.') WHERE id = %d", row),
		fmt.Sprintf("UPDATE `lines` SET parent_id = %d WHERE id = %d", other, row),
		"INSERT INTO parents (name) VALUES ('new')",
		"SET @parent = LAST_INSERT_ID()",
		"INSERT INTO `lines` (parent_id) VALUES (@parent)",
		"INSERT INTO notes (parent_id) VALUES (@parent)",
		fmt.Sprintf("DELETE FROM notes WHERE id = %d", row),
	}
}
