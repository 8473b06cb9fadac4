package mysql_test

import (
	"errors"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// The move preserves everything that a MODIFY drops if the statement does not repeat it,
// and all objects that belong to the tables.
func TestMySQLSurvives(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on,
			"CREATE TABLE users (`id` int NOT NULL AUTO_INCREMENT COMMENT 'it''s AUTO_INCREMENT, \"x\" \\\\ back`tick (\nnewline; AUTO_INCREMENT ', "+
				"`name` varchar(30) COLLATE utf8mb4_bin NOT NULL DEFAULT 'a,b)`' CHECK (char_length(`name`) < 20), PRIMARY KEY (id) COMMENT 'the, key') COMMENT='all (of, them'",
			"CREATE TABLE orders (`id` int unsigned NOT NULL PRIMARY KEY CHECK (`id` <> 1000), "+
				"`user_id` int NULL DEFAULT 1 INVISIBLE COMMENT 'ünï', `other_id` int DEFAULT NULL CHECK (`other_id` > 0 or `other_id` = -5), `total` decimal(10,2) AS (1.5) STORED, "+
				"`t` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(), `text` text, "+
				"KEY ix (t, user_id DESC), UNIQUE KEY ux (user_id, id), KEY odd (`text`(10)) COMMENT 'KEY, `x` (', FULLTEXT KEY ft (`text`), "+
				"CONSTRAINT fk_zz FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL, CONSTRAINT fk_aa FOREIGN KEY (other_id) REFERENCES users (id), "+
				"CONSTRAINT sane CHECK (`total` > 0 and `text` <> ') FOREIGN KEY ('))",
			"CREATE TABLE unnamed (user_id int, n int, FOREIGN KEY (user_id) REFERENCES users (id))",
			"CREATE TABLE unrelated (id int PRIMARY KEY)",
			"ALTER TABLE unnamed ADD COLUMN u int, ADD FOREIGN KEY (u) REFERENCES unrelated (id), ADD KEY later (n)",
			"CREATE VIEW names AS SELECT u.id, u.name, o.id AS order_id FROM users u JOIN orders o ON o.user_id = u.id",
			"CREATE TRIGGER tr BEFORE INSERT ON users FOR EACH ROW SET NEW.name = CONCAT(NEW.name, '!')",
			"INSERT INTO users (id, name) VALUES (1, 'a'), (3, 'c')",
			"INSERT INTO orders (id, user_id, other_id, t, text) VALUES (1, 3, 1, '2020-01-02 03:04:05', 'x')",
		)
		schema, data := migratetest.MySQLSchema(t, db), mysqlData(t, db)
		plan := migratetest.MySQLInspect(t, db, "users", "orders")
		mysqlApply(t, db, plan)
		after := migratetest.MySQLSchema(t, db)
		if !mysqlMariaDB(t, db) {
			after["users"], after["orders"] = mysqlAsMariaDB.Replace(after["users"]), mysqlAsMariaDB.Replace(after["orders"])
		}
		for _, want := range []string{
			"`id` bigint(20) NOT NULL COMMENT 'it''s AUTO_INCREMENT, \"x\" \\\\ back`tick (\\nnewline; AUTO_INCREMENT ',",
			"`name` varchar(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'a,b)`' CHECK (char_length(`name`) < 20),",
			"CONSTRAINT `chk_users_id` CHECK (`id` > 0)",
		} {
			if !strings.Contains(after["users"], want) {
				t.Errorf("after up, users lacks\n%s\nin\n%s", want, after["users"])
			}
		}
		for _, want := range []string{
			"`id` bigint(20) NOT NULL CHECK (`id` <> 1000),",
			"`user_id` bigint(20) INVISIBLE DEFAULT 1 COMMENT 'ünï',",
			"`other_id` bigint(20) DEFAULT NULL CHECK (`other_id` > 0 or `other_id` = -5),",
			"CONSTRAINT `fk_zz` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE SET NULL,",
		} {
			if !strings.Contains(after["orders"], want) {
				t.Errorf("after up, orders lacks\n%s\nin\n%s", want, after["orders"])
			}
		}
		for _, name := range []string{"names", "trigger tr", "unrelated"} {
			if after[name] != schema[name] {
				t.Errorf("after up, %s:\n got %s\nwant %s", name, after[name], schema[name])
			}
		}
		migratetest.MySQLSame(t, "data after up", mysqlData(t, db), data)
		migratetest.MySQLExec(t, db, "INSERT INTO users VALUES (4611686018427387904, 'new')")
		if got := migratetest.MySQLRow(t, db, "SELECT name FROM users WHERE id > 1000")[0]; got != "new!" {
			t.Errorf("name = %q, want the trigger's", got)
		}
		migratetest.MySQLExec(t, db, "DELETE FROM users WHERE id > 1000")
		if again := migratetest.MySQLInspect(t, db, "users", "orders"); !again.Empty() {
			t.Errorf("a second plan is not empty:\n%s", again)
		}
		mysqlRevert(t, db, plan)
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
		migratetest.MySQLSame(t, "data after down", mysqlData(t, db), data)
	})
}

// mysqlAsMariaDB translates table definitions of MySQL into those of MariaDB. On MySQL a
// CHECK belongs to the table, and on MariaDB it can belong to a column.
var mysqlAsMariaDB = strings.NewReplacer(
	"`id` bigint NOT NULL,", "`id` bigint(20) NOT NULL CHECK (`id` <> 1000),",
	"`other_id` bigint DEFAULT NULL,", "`other_id` bigint(20) DEFAULT NULL CHECK (`other_id` > 0 or `other_id` = -5),",
	"bigint", "bigint(20)",
	" DEFAULT '1' /*!80023 INVISIBLE */", " INVISIBLE DEFAULT 1",
	" DEFAULT 'a,b)`',", " DEFAULT 'a,b)`' CHECK (char_length(`name`) < 20),",
	"CHECK ((`id` > 0))", "CHECK (`id` > 0)",
)

// Names that contain quotes, line ends or verbs of package fmt, names that differ only in
// case, and the longest names do not break a statement. Tables with such names are moved and
// moved back.
func TestMySQLOddNames(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		long := strings.Repeat("l", 64)
		umlauts := strings.Repeat("ü", 64)
		db := migratetest.MySQLOpen(t, on,
			"CREATE TABLE `Select` (`a b``c.'\"\\ \n,(` int NOT NULL AUTO_INCREMENT PRIMARY KEY)",
			"CREATE TABLE `select` (id int PRIMARY KEY)",
			"CREATE TABLE `o'r``d\"e.r\\s -- ; ?` (`order` int, `x` int, CONSTRAINT `f'k``\"\\; %d` FOREIGN KEY (`order`) REFERENCES `Select` (`a b``c.'\"\\ \n,(`) ON DELETE CASCADE)",
			"CREATE TABLE `"+long+"` (`"+long+"` int NOT NULL AUTO_INCREMENT PRIMARY KEY)",
			"CREATE TABLE `"+umlauts+"` (`"+umlauts+"` int, CONSTRAINT `"+umlauts+"` FOREIGN KEY (`"+umlauts+"`) REFERENCES `"+long+"` (`"+long+"`))",
			"CREATE TABLE `ü"+long[2:]+"x` (id int NOT NULL AUTO_INCREMENT PRIMARY KEY)",
			"INSERT INTO `Select` VALUES (1)", "INSERT INTO `o'r``d\"e.r\\s -- ; ?` VALUES (1, 1)",
		)
		schema, data := migratetest.MySQLSchema(t, db), mysqlData(t, db)
		plan := migratetest.MySQLInspect(t, db, "Select", long, `"ü`+long[2:]+`x"`)
		mysqlApply(t, db, plan)
		if got, want := mysqlColumnType(t, db, "select", "id"), "int"; got != want {
			t.Errorf("table select, which was not asked for, has an id of type %s, want %s", got, want)
		}
		migratetest.MySQLExec(t, db, "INSERT INTO `Select` VALUES (4611686018427387904)", "INSERT INTO `o'r``d\"e.r\\s -- ; ?` VALUES (4611686018427387904, 2)",
			"DELETE FROM `Select` WHERE 1000 < `a b``c.'\"\\ \n,(`")
		mysqlRevert(t, db, plan)
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
		migratetest.MySQLSame(t, "data after down", mysqlData(t, db), data)
	})
}

// The move works in a session whose SQL mode changes the meaning of quotes and
// backslashes and truncates values that are too long. It restores all settings of the
// session.
func TestMySQLForeignSettings(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLWith(t, migratetest.MySQLOpen(t, on), func(c *driver.Config) { c.Params = map[string]string{"sql_mode": "''"} })
		migratetest.MySQLExec(t, db,
			"CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'a\\\\b\"c''', d date NOT NULL DEFAULT '0000-00-00')",
			"CREATE TABLE orders (user_id int, FOREIGN KEY (user_id) REFERENCES users (id))",
			"INSERT INTO users (id) VALUES (3)", "INSERT INTO orders VALUES (3)")
		schema := migratetest.MySQLSchema(t, db)
		pool := migratetest.MySQLPool(t, db)
		pool.SetMaxOpenConns(1) // all statements run in the session whose settings are set here
		migratetest.MySQLExec(t, db, "SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,NO_ZERO_DATE', SESSION foreign_key_checks = 0, SESSION lock_wait_timeout = 77, SESSION autocommit = 0 /*!80000, SESSION information_schema_stats_expiry = 77 */")
		settings := "SELECT @@sql_mode, @@foreign_key_checks, @@lock_wait_timeout, @@autocommit, @@innodb_lock_wait_timeout /*!80000, @@information_schema_stats_expiry */"
		before := migratetest.MySQLRow(t, db, settings)
		plan := migratetest.MySQLInspect(t, db, "users")
		mysqlApply(t, db, plan, sqlmigrate.WithLockTimeout(1500e6)) // 1.5 seconds, which changes both timeouts of the session
		mysqlRevert(t, db, plan)
		if got := migratetest.MySQLRow(t, db, settings); strings.Join(got, "|") != strings.Join(before, "|") {
			t.Errorf("settings = %q, want the earlier ones: %q", got, before)
		}
		migratetest.MySQLExec(t, db, "SET SESSION sql_mode = '', SESSION autocommit = 1")
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
	})
}

// A table without AUTO_INCREMENT accepts a key of 0, but the server would replace it by 1
// when AUTO_INCREMENT is added again. Revert must preserve the key.
func TestMySQLKeyZero(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, v int)")
		migratetest.MySQLExec(t, db, "INSERT INTO users VALUES (4, 4), (5, 5)", "UPDATE users SET id = 0 WHERE id = 4")
		schema, data := migratetest.MySQLSchema(t, db), mysqlData(t, db)
		plan := migratetest.MySQLInspect(t, db, "users")
		const want = "column id of table users: it holds key 0, which is not positive: the table gets no CHECK"
		if err := plan.Apply(t.Context(), db); !errors.Is(err, sqlmigrate.ErrIncomplete) {
			t.Errorf("apply: %v, want ErrIncomplete", err)
		} else {
			migratetest.WantError(t, err, want)
		}
		mysqlRevert(t, db, plan)
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
		migratetest.MySQLSame(t, "data after down", mysqlData(t, db), data)
		migratetest.MySQLExec(t, db, "INSERT INTO users (v) VALUES (6)")
		if got := migratetest.MySQLRow(t, db, "SELECT id FROM users WHERE v = 6")[0]; got != "6" {
			t.Errorf("the next key is %s, want 6", got)
		}
	})
}

// Phase detach drops the DEFAULT of a key, as it drops AUTO_INCREMENT, so that the database
// rejects a row without a key. The comment of the column contains the word DEFAULT, which the
// plan must not take for a DEFAULT that is left. Revert restores the schema.
func TestMySQLDefaultOfKey(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE users (id int NOT NULL DEFAULT 9 COMMENT ' DEFAULT ' PRIMARY KEY)",
			"CREATE TABLE orders (user_id int, FOREIGN KEY (user_id) REFERENCES users (id))")
		schema := migratetest.MySQLSchema(t, db)
		plan := migratetest.MySQLInspect(t, db, "users")
		mysqlApply(t, db, plan)
		if err := migratetest.MySQLTry(t, db, "INSERT INTO users VALUES ()"); err == nil {
			t.Error("after up, a row without a key is not refused")
		}
		if again := migratetest.MySQLInspect(t, db, "users"); !again.Empty() {
			t.Errorf("a second plan is not empty:\n%s", again)
		}
		mysqlRevert(t, db, plan)
		migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db), schema)
	})
}
