package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlShop returns the statements that create tables with every kind of reference. key
// is the type of their keys, auto is AUTO_INCREMENT or empty, and second is the name of a
// second database.
func mysqlShop(key, auto, second string) []string {
	r := strings.NewReplacer("{KEY}", key, "{AUTO}", auto, "{SECOND}", second)
	statements := []string{
		"CREATE TABLE users (id {KEY} NOT NULL {AUTO} PRIMARY KEY, name varchar(20), manager_id {KEY} NULL, CONSTRAINT fk_manager FOREIGN KEY (manager_id) REFERENCES users (id) ON DELETE SET NULL)",
		"CREATE TABLE profiles (user_id {KEY} NOT NULL PRIMARY KEY, text varchar(20), CONSTRAINT fk_profile FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE)",
		"CREATE TABLE badges (profile_id {KEY}, CONSTRAINT fk_badge FOREIGN KEY (profile_id) REFERENCES profiles (user_id))",
		"CREATE TABLE items (tenant int NOT NULL, id {KEY} NOT NULL {AUTO}, PRIMARY KEY (tenant, id), KEY (id))",
		"CREATE TABLE parts (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, tenant int, item_id {KEY}, CONSTRAINT fk_item FOREIGN KEY (tenant, item_id) REFERENCES items (tenant, id) ON UPDATE CASCADE)",
		"CREATE TABLE p (id {KEY} NOT NULL {AUTO} PRIMARY KEY, q_id {KEY})",
		"CREATE TABLE q (id {KEY} NOT NULL {AUTO} PRIMARY KEY, p_id {KEY}, CONSTRAINT fk_p FOREIGN KEY (p_id) REFERENCES p (id))",
		"ALTER TABLE p ADD CONSTRAINT fk_q FOREIGN KEY (q_id) REFERENCES q (id)",
		"CREATE TABLE both_of (user_id {KEY}, p_id {KEY}, CONSTRAINT fk_one FOREIGN KEY (user_id) REFERENCES users (id), CONSTRAINT fk_two FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE)",
		"CREATE TABLE logs (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id {KEY}, note varchar(20))",
		"CREATE TABLE {SECOND}.audits (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id {KEY}, CONSTRAINT fk_audit FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL)",
		"INSERT INTO users VALUES (1, 'a', NULL), (2, 'b', 1), (5, 'c', 2)",
		"INSERT INTO profiles VALUES (1, 'x'), (5, 'y')",
		"INSERT INTO badges VALUES (5), (NULL)",
		"INSERT INTO items VALUES (1, 1), (1, 2), (2, 3)",
		"INSERT INTO parts VALUES (1, 1, 2), (2, 2, 3), (3, NULL, NULL)",
		"INSERT INTO p VALUES (1, NULL)", "INSERT INTO q VALUES (7, 1)", "UPDATE p SET q_id = 7",
		"INSERT INTO both_of VALUES (2, 1), (NULL, 1)",
		"INSERT INTO logs VALUES (1, 2, 'x'), (2, 99, 'gone')",
		"INSERT INTO {SECOND}.audits VALUES (1, 5), (2, NULL)",
	}
	for i, action := range []string{"", "ON DELETE RESTRICT", "ON DELETE NO ACTION", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON UPDATE CASCADE", "ON DELETE CASCADE ON UPDATE SET NULL"} {
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE child%d (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id {KEY} NULL, CONSTRAINT fk_child%d FOREIGN KEY (user_id) REFERENCES users (id) %s)", i, i, action),
			fmt.Sprintf("INSERT INTO child%d VALUES (1, 1), (2, 5), (3, NULL)", i))
	}
	for i := range statements {
		statements[i] = r.Replace(statements[i])
	}
	return statements
}

// mysqlShopTargets returns the arguments of Inspect for the tables of mysqlShop. All
// other tables are connected with them by foreign keys.
func mysqlShopTargets() []any {
	return []any{"users", "items", "p", "q", sqlmigrate.WithReference("logs.user_id", "users.id")}
}

// mysqlShopIn executes the statements of mysqlShop in the database of db and in a second
// database, whose name it returns.
func mysqlShopIn(t *testing.T, db *gorm.DB, key, auto string) (second string) {
	t.Helper()
	second = migratetest.MySQLSecond(t, db)
	first := migratetest.MySQLRow(t, db, "SELECT DATABASE()")[0]
	for _, s := range mysqlShop(key, auto, second) {
		if strings.Contains(s, second+".audits (") {
			s = strings.ReplaceAll(s, "REFERENCES users", "REFERENCES "+first+".users")
		}
		migratetest.MySQLExec(t, db, s)
	}
	// Table audits must be dropped before its parent, so it is dropped before the
	// databases are.
	t.Cleanup(func() { migratetest.MySQLAtEnd(t, db, "DROP TABLE IF EXISTS "+second+".audits") })
	return second
}

// Keys with and without AUTO_INCREMENT become bigint in all tables that refer to them, also
// in another database. On MariaDB the keys have each of the integer types, and on MySQL int
// and bigint. The rows stay, the foreign keys are enforced, and the way back restores the
// schema.
func TestMySQLMatrix(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		bases := []string{"int", "bigint"} // MySQL changes tables more slowly, so it runs with fewer types
		if on == testdb.MariaDB {
			bases = append(bases, "tinyint", "smallint", "mediumint")
		}
		for _, base := range bases {
			for _, sign := range []string{"", " unsigned"} {
				for _, auto := range []string{"AUTO_INCREMENT", ""} {
					t.Run(strings.TrimSpace(base+sign+" "+auto), func(t *testing.T) {
						t.Parallel()
						testMySQLMatrix(t, on, base+sign, auto)
					})
				}
			}
		}
	})
}

// testMySQLMatrix moves the tables of mysqlShop, uses them, and moves them back.
func testMySQLMatrix(t *testing.T, on testdb.Target, key, auto string) {
	db := migratetest.MySQLOpen(t, on)
	second := mysqlShopIn(t, db, key, auto)
	schema, data := migratetest.MySQLSchema(t, db, second), mysqlData(t, db, second)
	plan := migratetest.MySQLInspect(t, db, mysqlShopTargets()...)
	mysqlApply(t, db, plan)

	migratetest.MySQLSame(t, "data after up", mysqlData(t, db, second), data)
	want := "bigint"
	if key == "bigint unsigned" {
		want = key
	}
	for _, column := range []string{
		"users.id", "users.manager_id", "profiles.user_id", "badges.profile_id", "items.id", "parts.item_id",
		"p.id", "p.q_id", "q.id", "q.p_id", "both_of.user_id", "both_of.p_id", "logs.user_id", "child0.user_id", "child6.user_id",
	} {
		table, column, _ := strings.Cut(column, ".")
		want := want
		if auto == "" && (table == "items" || table == "parts") {
			want = key // without AUTO_INCREMENT the plan cannot tell which column of the composite key to move
		}
		if got := mysqlColumnType(t, db, table, column); got != want {
			t.Errorf("after up, %s.%s is %s, want %s", table, column, got, want)
		}
	}
	for _, column := range []string{"parts.id", "child0.id", "logs.id"} {
		table, column, _ := strings.Cut(column, ".")
		if got, want := mysqlColumnType(t, db, table, column), "int auto_increment"; got != want {
			t.Errorf("after up, %s.%s, which was not asked for, is %s, want %s", table, column, got, want)
		}
	}
	testMySQLInUse(t, db, second, auto != "")

	again := migratetest.MySQLInspect(t, db, mysqlShopTargets()...)
	if !again.Empty() {
		t.Errorf("a second plan is not empty:\n%s", again)
	}
	mysqlRevert(t, db, plan)
	migratetest.MySQLSame(t, "schema after down", migratetest.MySQLSchema(t, db, second), schema)
	migratetest.MySQLSame(t, "data after down", mysqlData(t, db, second), data)
	if auto != "" {
		migratetest.MySQLExec(t, db, "INSERT INTO users (name) VALUES ('next')", "INSERT INTO q (p_id) VALUES (1)")
		for query, want := range map[string]string{"SELECT MAX(id) FROM users": "6", "SELECT MAX(id) FROM q": "8"} {
			if got := migratetest.MySQLRow(t, db, query)[0]; got != want {
				t.Errorf("after down, the next key is %s, want %s: %s", got, want, query)
			}
		}
	}
}

// testMySQLInUse inserts Snowflake IDs into parents and children, checks that the foreign
// keys are enforced, and deletes the rows. items is whether the key of table items has
// been moved.
func testMySQLInUse(t *testing.T, db *gorm.DB, second string, items bool) {
	t.Helper()
	id := fmt.Sprint(mysqlID)
	migratetest.MySQLExec(t, db,
		"INSERT INTO users VALUES ("+id+", 'new', 1)", "INSERT INTO profiles VALUES ("+id+", 'new')",
		"INSERT INTO child3 (user_id) VALUES ("+id+")", "INSERT INTO "+second+".audits (user_id) VALUES ("+id+")",
		"INSERT INTO logs VALUES (9, "+id+", 'new')",
		"INSERT INTO q VALUES ("+id+", 1)", "UPDATE p SET q_id = "+id)
	if items {
		migratetest.MySQLExec(t, db, "INSERT INTO items VALUES (1, "+id+")", "INSERT INTO parts VALUES (9, 1, "+id+")")
	}
	for _, refused := range []string{
		"INSERT INTO child0 (user_id) VALUES (1234567)",
		"INSERT INTO " + second + ".audits (user_id) VALUES (1234567)",
		"INSERT INTO parts VALUES (10, 2, " + id + ")",
		"DELETE FROM q WHERE id = " + id,
		"INSERT INTO users (name) VALUES ('no key')",
		"INSERT INTO users (id, name) VALUES (0, 'bad key')",
	} {
		if err := migratetest.MySQLTry(t, db, refused); err == nil {
			t.Errorf("not refused: %s", refused)
		}
	}
	migratetest.MySQLExec(t, db, "UPDATE p SET q_id = 7", "DELETE FROM q WHERE id = "+id, "DELETE FROM logs WHERE id = 9",
		"DELETE FROM parts WHERE id = 9", "DELETE FROM items WHERE id = "+id, "DELETE FROM users WHERE id = "+id,
		"DELETE FROM "+second+".audits WHERE id > 2")
	if got := migratetest.MySQLRow(t, db, "SELECT COUNT(*) FROM child3 WHERE user_id = "+id)[0]; got != "0" {
		t.Errorf("%s rows of child3 left after their user was deleted: ON DELETE CASCADE is gone", got)
	}
}
