package onlinetest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// mariadbLongName is a table name that is so long that the names of the move's triggers,
// which contain it, would exceed 64 characters.
var mariadbLongName = strings.Repeat("n", 60)

// mariadbRefuses tests that the plan has a blocker for each schema that the move would
// damage or cannot move, and that Apply then changes nothing. The blocker names the object
// of the case, and its reason contains the reason of the case.
func mariadbRefuses(t *testing.T, server *mariadbServer) {
	for _, test := range []struct{ name, change, object, reason string }{
		{"trigger", "CREATE TRIGGER own BEFORE INSERT ON orders FOR EACH ROW SET NEW.note = 'y'", "trigger own", "order"},
		{"self-reference", "ALTER TABLE users ADD boss_id int unsigned, ADD CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES users (id)", "foreign key fk_boss", "itself"},
		{"circle", "ALTER TABLE users ADD last_id int, ADD CONSTRAINT fk_last FOREIGN KEY (last_id) REFERENCES orders (id)", "foreign keys", "circle"},
		{"composite", "ALTER TABLE users ADD UNIQUE KEY two (id, email), ADD KEY (email); CREATE TABLE more (u int unsigned, e varchar(60), CONSTRAINT fk_two FOREIGN KEY (u, e) REFERENCES users (id, email))", "foreign key fk_two", "several columns"},
		{"not in the set", "ALTER TABLE users ADD UNIQUE KEY (code); CREATE TABLE more (c binary(2), CONSTRAINT fk_code FOREIGN KEY (c) REFERENCES users (code))", "table more", "not widened"},
		{"parent not in the set", "CREATE TABLE more (c char(2) PRIMARY KEY); ALTER TABLE users ADD c char(2), ADD CONSTRAINT fk_c FOREIGN KEY (c) REFERENCES more (c)", "foreign key fk_c", "not widened"},
		{"zerofill", "ALTER TABLE notes ADD n int zerofill", "column n", "ZEROFILL"},
		{"no integer first", "CREATE TABLE more (a char(2), user_id int unsigned, PRIMARY KEY (a, user_id), CONSTRAINT fk_more FOREIGN KEY (user_id) REFERENCES users (id))", "table more", "primary key"},
		{"name", "CREATE TABLE _users_sfnew (id int)", "table _users_sfnew", "name"},
		{"unfinished run", "CREATE TABLE sqlmigrate_journal (id char(64), kind varchar(16), table_schema varchar(64), table_name varchar(64), name varchar(64), definition mediumtext)", "table sqlmigrate_journal", "half-way"},
		{"partitions", "CREATE TABLE more (id int AUTO_INCREMENT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2", "table more", "partitions"},
		{"engine", "CREATE TABLE more (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=MyISAM", "table more", "InnoDB"},
		{"versions", "CREATE TABLE more (id int AUTO_INCREMENT PRIMARY KEY) WITH SYSTEM VERSIONING", "table more", "system-versioned"},
		{"period", "CREATE TABLE more (id int AUTO_INCREMENT, f date, u date, PERIOD FOR p (f, u), PRIMARY KEY (id, p WITHOUT OVERLAPS))", "table more", "WITHOUT OVERLAPS"},
		{"long name", "CREATE TABLE " + mariadbLongName + " (id int AUTO_INCREMENT PRIMARY KEY)", "table " + mariadbLongName, "no room"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if server.mysql && (test.name == "versions" || test.name == "period") {
				t.Skip("MySQL has no system versioning, and no PERIOD")
			}
			d := server.database(t, mariadbShop(10)...)
			d.exec(t, strings.Split(test.change, "; ")...)
			schema := d.schema(t)
			plan := d.online(t)
			// A case that creates a table with a key of its own tests a plan for this
			// table.
			if name, ok := strings.CutPrefix(test.object, "table "); ok && strings.HasPrefix(test.change, "CREATE TABLE "+name+" (id int AUTO_INCREMENT") {
				plan = d.onlineOf(t, name)
			}
			wantBlocker(t, test.name, plan, test.object, test.reason)
			wantError(t, plan.Apply(context.Background(), d.DB), test.object)
			same(t, "schema", d.schema(t), schema)
		})
	}
}

// mariadbChanged tests that the swap is refused if somebody changed a table during the
// move, because the new table was created before the change and would replace it.
func mariadbChanged(t *testing.T, server *mariadbServer) {
	for _, change := range []string{
		"ALTER TABLE orders ADD extra int",
		"ALTER TABLE orders ALTER note SET DEFAULT 'X'",
		"ALTER TABLE users ADD KEY extra (code)",
		"ALTER TABLE users ADD CONSTRAINT extra CHECK (email <> '')",
		"ALTER TABLE notes DROP FOREIGN KEY fk_note",
		"CREATE TRIGGER own BEFORE INSERT ON notes FOR EACH ROW SET NEW.id = NEW.id",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			d := server.database(t, mariadbShop(10)...)
			if err := d.online(t).Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageConstrain)); err != nil {
				t.Fatal(err)
			}
			d.exec(t, change)
			wantError(t, d.online(t).Apply(context.Background(), d.DB), "refuse it if it has been changed since the plan")
			if err := d.online(t).Revert(context.Background(), d.DB); err != nil {
				t.Fatal(err)
			}
			d.want(t, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE '%\\_sf%'", "0")
		})
	}
}
