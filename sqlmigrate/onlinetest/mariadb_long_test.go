package onlinetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// TestLongMariaDB takes eight minutes on two cores for a million rows. The log has
// room for all that is written, also while the tables are built, or everybody would
// wait for checkpoints.
func TestLongMariaDB(t *testing.T) {
	rows := longRows(t)
	from := fmt.Sprintf(" FROM seq_1_to_%d", rows)
	d := startMariaDB(t, "innodb_log_file_size=4G", "innodb_buffer_pool_size=512M").database(
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
			return d.value(t, "SELECT ROUND(SUM(FILE_SIZE) / 1000000) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE CONCAT(DATABASE(), '/%')")
		},
		log: func() string {
			return d.value(t, "SELECT ROUND(VARIABLE_VALUE / 1000000) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_LSN_CURRENT'")
		},
	}.measure(t)
	d.want(t, "SELECT COUNT(*) FROM `lines` l LEFT JOIN parents p ON p.id = l.parent_id WHERE p.id IS NULL", "0")
	d.want(t, "SELECT COUNT(*) FROM notes n LEFT JOIN parents p ON p.id = n.parent_id WHERE p.id IS NULL", "0")
}

// mariadbLongWriter tolerates what a program has to repeat.
func mariadbLongWriter(rows int) func(context.Context, *sql.Conn) error {
	write := longWriter(rows, mariadbLongWrite)
	return func(ctx context.Context, conn *sql.Conn) error {
		err := write(ctx, conn)
		if err != nil && expected.MatchString(err.Error()) {
			return nil
		}
		return err
	}
}

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
