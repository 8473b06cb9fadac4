package mysql_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlLarge returns the statements that create connected tables, and the names of the
// tables. Each table except the first has two foreign keys to earlier tables. Every third
// table has a composite key, and every fifth one has generated columns and a trigger. There
// are also views of three levels, procedures, and partitioned tables, which cannot have
// foreign keys.
func mysqlLarge(tables int) (statements, names []string) {
	for i := range tables {
		name := fmt.Sprintf("t%03d", i)
		names = append(names, name)
		columns := []string{"id int NOT NULL AUTO_INCREMENT", "parent_id int", "other_id int", "n int NOT NULL DEFAULT 3 COMMENT 'it''s'", "name varchar(20) CHARACTER SET latin1", "note json"}
		key := "PRIMARY KEY (id)"
		if i%3 == 1 {
			columns, key = append(columns, "tenant int NOT NULL DEFAULT 1"), "PRIMARY KEY (id, tenant), UNIQUE KEY (n, id)"
		}
		if i%5 == 2 {
			columns = append(columns, "label varchar(40) AS (CONCAT(name, ' ', n)) STORED", "twice bigint AS (n * 2) VIRTUAL")
		}
		columns = append(columns, key)
		if i > 0 {
			columns = append(columns,
				fmt.Sprintf("CONSTRAINT fk_p%03d FOREIGN KEY (parent_id) REFERENCES t%03d (id) ON DELETE CASCADE", i, (i-1)/2),
				fmt.Sprintf("CONSTRAINT fk_o%03d FOREIGN KEY (other_id) REFERENCES t%03d (id)", i, i-1))
		}
		statements = append(statements, "CREATE TABLE "+name+" ("+strings.Join(columns, ", ")+")",
			"INSERT INTO "+name+" (id, parent_id, other_id, name) VALUES (1, 1, 1, 'x'), (9, NULL, 1, NULL)", "DELETE FROM "+name+" WHERE id = 9")
		if i%5 == 2 {
			statements = append(statements, "CREATE TRIGGER tr"+name+" BEFORE INSERT ON "+name+" FOR EACH ROW SET NEW.n = NEW.n + 1")
		}
		if i%6 == 0 {
			statements = append(statements, "CREATE VIEW v"+name+" AS SELECT id, parent_id FROM "+name,
				"CREATE PROCEDURE c"+name+"(p bigint) SELECT next FROM w"+name+" WHERE next > p",
				"CREATE TABLE p"+name+" (id int NOT NULL AUTO_INCREMENT, at date NOT NULL, "+name+"_id int NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE COLUMNS (at) (PARTITION a VALUES LESS THAN ('2021-01-01'), PARTITION b VALUES LESS THAN (MAXVALUE))",
				"INSERT INTO p"+name+" VALUES (1, '2020-02-02', 1), (2, '2022-02-02', 1)",
				"CREATE VIEW w"+name+" AS SELECT id + 1 AS next FROM v"+name, "CREATE VIEW x"+name+" AS SELECT MAX(next) AS most FROM w"+name)
		}
	}
	return statements, names
}

// mysqlProgramDump returns the output of mysqldump or mariadb-dump with triggers and
// routines. It returns an empty text if the program is not installed.
func mysqlProgramDump(t *testing.T, db *gorm.DB) string {
	t.Helper()
	program := "mysqldump"
	if mysqlMariaDB(t, db) {
		program = "mariadb-dump"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Logf("%v: the statements that create everything are compared", err)
		return ""
	}
	config := db.Dialector.(*mysql.Dialector).DSNConfig
	host, port, _ := strings.Cut(config.Addr, ":")
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), path, "--protocol=tcp", "--host="+host, "--port="+port, "--user="+config.User,
		"--routines", "--triggers", "--events", "--skip-comments", "--no-tablespaces", "--order-by-primary", config.DBName)
	command.Env = append(os.Environ(), "MYSQL_PWD="+config.Passwd)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, stderr.String())
	}
	return string(out)
}

// mysqlForeignKeyColumns returns the columns of all foreign keys and the columns that
// they refer to. KEY_COLUMN_USAGE also contains the columns of unique keys, for which
// REFERENCED_TABLE_NAME is NULL.
const mysqlForeignKeyColumns = "SELECT TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE " +
	"WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL"

// mysqlLargeRows returns the statements that insert a row with a key above 2^53 into each
// table. The rows refer to rows of other tables.
func mysqlLargeRows(names []string) (statements []string) {
	for i, name := range names {
		id := migratetest.LargeID + int64(i)
		parent, other := fmt.Sprint(migratetest.LargeID+int64((i-1)/2)), fmt.Sprint(id-1)
		if i == 0 {
			parent, other = "NULL", "NULL"
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (id, parent_id, other_id) VALUES (%d, %s, %s)", name, id, parent, other))
		if i%6 == 0 {
			statements = append(statements, fmt.Sprintf("INSERT INTO p%s VALUES (%d, '2020-02-02', %d)", name, id, id))
		}
	}
	return statements
}

// Inspect plans the move of many connected tables within a limit of time. After the move, all
// references hold for keys above 2^53, which a float cannot store. Revert refuses while there
// are Snowflake IDs. Once they are deleted, it restores the database as a dump program sees
// it.
func TestMySQLLarge(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		statements, names := mysqlLarge(migratetest.LargeTables(40))
		db := mysqlLoose(t, migratetest.MySQLOpen(t, on), on)
		migratetest.MySQLExec(t, db, statements...)
		before := mysqlDump(t, db) + mysqlProgramDump(t, db)
		var targets []any
		var references []migratetest.Reference
		for i, name := range names {
			targets = append(targets, name)
			if i%6 == 0 {
				r := migratetest.Reference{Table: "p" + name, Column: name + "_id", KeyTable: name, Key: "id"}
				references = append(references, r)
				targets = append(targets, r.Table, sqlmigrate.WithReference(r.Table+"."+r.Column, name+".id"))
			}
		}
		begun := time.Now()
		plan := migratetest.MySQLInspect(t, db, targets...)
		took := time.Since(begun)
		t.Logf("Inspect took %v", took.Round(time.Millisecond))
		limit := 30 * time.Second // allows for a busy machine, unless the test is run to measure
		if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
			limit = 5 * time.Second
		}
		if took > limit {
			t.Errorf("Inspect took %v, want %v at most", took, limit)
		}
		if got, want := len(plan.Tables), len(names)+len(references); got != want {
			t.Fatalf("%d tables, want %d", got, want)
		}
		begun = time.Now()
		mysqlApply(t, db, plan)
		t.Logf("Apply took %v", time.Since(begun).Round(time.Millisecond))
		migratetest.MySQLExec(t, db, mysqlLargeRows(names)...)
		references = append(references, migratetest.ReadReferences(t, db, mysqlForeignKeyColumns)...)
		migratetest.WantJoined(t, db, references)
		if got := migratetest.MySQLRow(t, db, "SELECT most > 9007199254740992 FROM xt006")[0]; got != "1" {
			t.Errorf("the largest key of a view is above 2^53: %s, want 1", got)
		}
		// The way back is refused while there are Snowflake IDs.
		moved := mysqlDump(t, db)
		migratetest.WantError(t, plan.Revert(t.Context(), db), "refused")
		if mysqlDump(t, db) != moved {
			t.Error("a way back that was refused has changed the database")
		}
		for i, name := range slices.Backward(names) {
			if i%6 == 0 {
				migratetest.MySQLExec(t, db, "DELETE FROM p"+name+" WHERE id > 2")
			}
			migratetest.MySQLExec(t, db, fmt.Sprintf("DELETE FROM %s WHERE id > 1", name))
		}
		begun = time.Now()
		mysqlRevert(t, db, plan)
		t.Logf("Revert took %v", time.Since(begun).Round(time.Millisecond))
		if after := mysqlDump(t, db) + mysqlProgramDump(t, db); after != before {
			t.Errorf("after the way back:\n%s", testdb.Diff(before, after))
		}
	})
}
