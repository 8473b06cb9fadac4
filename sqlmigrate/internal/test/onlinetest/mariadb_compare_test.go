package onlinetest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// kindsTable has a column of each kind that the comparison writes as text. The second row
// has values that could be taken for separators of the text or for NULL.
const kindsTable = "CREATE TABLE kinds (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, small tinyint, plus bigint unsigned, real4 float, real8 double, exact decimal(20,10), " +
	"day date, at datetime(6), bits bit(9), choice enum('a','A;','-'), many set('x','y'), latin varchar(20) CHARACTER SET latin1, `text` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, raw varbinary(20), long_raw longblob, doc json, twice int AS (small * 2) STORED)"

// kindsChanges change one value each, so little that a conversion of the value could hide it.
var kindsChanges = []string{
	"small = NULL", "small = -5", "plus = 18446744073709551614", "real4 = 1.75", "real4 = 1.500001", "real8 = 0.30000000000000004", "exact = 0.1000000001", "day = '2026-02-28'", "at = '2026-03-01 00:00:00.000001'",
	"bits = b'100000001'", "choice = '-'", "choice = NULL", "many = 'x'", "many = ''", "latin = 'E'", "latin = 'e '", "latin = 'é'", "latin = '-'", "latin = ''", "latin = NULL",
	"`text` = 'ss'", "`text` = 'e,-'", "`text` = 'e;3,'", "`text` = '😀 '", "`text` = NULL", "`text` = ''", "raw = 'a'", "raw = x'6100'", "raw = NULL", "long_raw = x'00'", "long_raw = NULL", `doc = '{"a": 2}'`, "doc = NULL",
}

// An online move compares a table with its shadow by a query that makes a text of the rows of
// each of them, and reports whether the two texts are equal. Only if they differ does the
// move run a slow query that counts the rows that differ. mariadbComparedAsText tests both
// queries. The texts must be equal for equal rows, because otherwise the slow query would
// run. They must differ if a single value differs, because otherwise the move would miss the
// difference.
func mariadbComparedAsText(t *testing.T, server *mariadbServer) {
	d := server.database(t, kindsTable,
		`INSERT INTO kinds VALUES (DEFAULT, 1, 18446744073709551615, 1.5, 0.3, 0.1, '2026-03-01', '2026-03-01', b'1', 'a', 'x,y', 'e', 'ß', 'A', x'', '{"a": 1}', DEFAULT)`,
		"INSERT INTO kinds (id, small, choice, latin, `text`, raw) VALUES (-7, NULL, 'A;', '-', ',-;2,', '-')",
		"INSERT INTO kinds (id) VALUES (3)")
	if err := d.onlineOf(t, "kinds").Apply(context.Background(), d.DB, sqlmigrate.WithLastStage(sqlmigrate.StageCopy)); err != nil {
		t.Fatal(err)
	}
	step := comparisonOf(t, d.onlineOf(t, "kinds"))
	compare := func() (equal string, differ string) {
		return d.value(t, strings.NewReplacer("> ?", "> -1e19", "<= ?", "<= 1e20").Replace(step.SQL[1])), d.value(t, step.SQL[0])
	}
	if equal, differ := compare(); equal != "1" || differ != "0" {
		t.Fatalf("equal = %s, rows that differ = %s after the copy, want 1 and 0", equal, differ)
	}
	for _, change := range append(kindsChanges, "id = 4") {
		// Row 1 has all values, and row 3 only NULLs.
		for _, key := range []string{"1", "3"} {
			if strings.HasSuffix(change, "NULL") && key == "3" {
				continue
			}
			d.exec(t, "CREATE TABLE kept SELECT * FROM _kinds_sfnew WHERE id = "+key, "ALTER TABLE kept DROP COLUMN twice", "UPDATE _kinds_sfnew SET "+change+" WHERE id = "+key)
			if equal, differ := compare(); equal != "0" || differ == "0" {
				t.Errorf("equal = %s, rows that differ = %s after %s in row %s, want 0 and at least 1", equal, differ, change, key)
			}
			d.exec(t, "DELETE FROM _kinds_sfnew WHERE id IN ("+key+", 4)",
				"INSERT INTO _kinds_sfnew (id, small, plus, real4, real8, exact, day, at, bits, choice, many, latin, `text`, raw, long_raw, doc) SELECT * FROM kept", "DROP TABLE kept")
		}
	}
}

// mariadbKeyOrder tests a primary key whose columns have another order in the key than in
// the table. The comparison must not read it in ranges, because the server would read the
// whole table for each range.
func mariadbKeyOrder(t *testing.T, server *mariadbServer) {
	d := server.database(t, "CREATE TABLE members (id int NOT NULL AUTO_INCREMENT, name varchar(20), tenant_id int NOT NULL, PRIMARY KEY (tenant_id, id), KEY ix (id))",
		"INSERT INTO members SELECT seq, CONCAT('m', seq), seq % 7"+sequence(900))
	before := d.value(t, "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(tenant_id * id), ' ', MAX(name)) FROM members")
	online := d.onlineOf(t, "members")
	if step := comparisonOf(t, online); len(step.SQL) != 1 {
		t.Errorf("the comparison reads ranges: %s", step.SQL[1])
	}
	if err := online.Apply(context.Background(), d.DB); err != nil {
		t.Fatal(err)
	}
	d.want(t, "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(tenant_id * id), ' ', MAX(name)) FROM members", before)
}

// comparisonOf returns the step that compares a table with its shadow.
func comparisonOf(t *testing.T, online *sqlmigrate.OnlinePlan) plan.OnlineStep {
	t.Helper()
	for _, stage := range online.Stages {
		for _, step := range stage.Steps {
			if step.Kind == plan.Verify && strings.Contains(step.SQL[0], "rows that differ") {
				return step
			}
		}
	}
	t.Fatal("the plan compares no table")
	return plan.OnlineStep{}
}
