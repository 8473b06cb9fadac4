package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// Columns audits.member_id and audits.creator_id have no foreign key, are too narrow for a
// Snowflake ID, and may hold keys of members by their names. doctor and "migrate plan" must
// both list them. With --not-reference for a column, both must leave it out. A column of
// --reference stays a problem for doctor until "migrate apply" has widened it. After the move
// and the first Snowflake ID, only audits.creator_id is left in the lists.
func TestDoctorColumns(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		if db.Name() == "sqlite" {
			t.Skip("no column is too narrow")
		}
		clitest.Execute(t, db,
			"CREATE TABLE members (id bigint PRIMARY KEY)",
			"CREATE TABLE audits (member_id int, creator_id int, quantity int)",
			"CREATE TABLE sizes (member_id bigint)",
			"CREATE TABLE codes (id int PRIMARY KEY)", "INSERT INTO codes VALUES (-7)", "CREATE TABLE goods (code_id int)", // not moved
			"CREATE TABLE linked (member_id bigint, other_id bigint, PRIMARY KEY (member_id, other_id))")
		member := []string{"--reference", "audits.member_id=members.id"}
		creator := []string{"--not-reference", "audits.creator_id"}

		plan := clitest.Command(t, "migrate", "plan", "--dsn", url, "members")
		clitest.WantOutcome(t, plan, clitest.Findings, "by its name: --reference audits.member_id=members.id\n", "")
		clitest.WantOutcome(t, plan, clitest.Findings, "For a column that holds no keys: --not-reference COLUMN\n", "")
		if strings.Contains(plan.Out, "With") {
			t.Errorf("the plan names what only a Go program has:\n%s", plan.Out)
		}

		d := diagnose(t, url)
		d.wantCounts(t, 2, 0)
		d.wantFinding(t, "problem", "columns", "audits.member_id", "too narrow for a Snowflake ID, and may hold members.id, by its name", "gormflake migrate plan --reference audits.member_id=members.id members; if it holds no keys, --not-reference audits.member_id")
		d.wantFinding(t, "problem", "columns", "audits.creator_id", "may hold keys, by its name", "--not-reference audits.creator_id")
		diagnose(t, url, append(creator, member...)...).wantFinding(t, "problem", "columns", "audits.member_id", "by its being named as a reference", "migrate plan --reference")

		got := clitest.Command(t, append(append([]string{"migrate", "apply", "--dsn", url, "--yes", "--save", ""}, append(creator, member...)...), "members")...)
		clitest.WantOutcome(t, got, clitest.OK, "next: gormflake doctor --dsn … --reference audits.member_id=members.id --not-reference audits.creator_id\n", "statements done")
		clitest.Execute(t, db, "INSERT INTO members VALUES (2124189853926044565)", "INSERT INTO audits (member_id) VALUES (2124189853926044565)")
		diagnose(t, url, append(creator, member...)...).wantFinding(t, "ok", "columns", "", "no column that may hold keys of 1 moved table is too narrow", "")
		clitest.WantOutcome(t, clitest.Command(t, append(append([]string{"migrate", "plan", "--dsn", url}, creator...), "members")...), clitest.OK, "nothing to do", "")
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", url, "members"), clitest.Findings, "nothing to do", "")
		diagnose(t, url).wantCounts(t, 1, 0)
		diagnose(t, url, "--skip", "members").wantCounts(t, 0, 0)
	})
}

// If a column could refer to any of more than five keys, doctor does not list these keys.
func TestDoctorManyKeys(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		if db.Name() == "sqlite" {
			t.Skip("no column is too narrow")
		}
		clitest.Execute(t, db, "CREATE TABLE audits (owner_id int)", "INSERT INTO audits VALUES (1), (2)")
		for i := range 6 {
			clitest.Execute(t, db, fmt.Sprintf("CREATE TABLE keys_%d (id bigint PRIMARY KEY)", i), fmt.Sprintf("INSERT INTO keys_%d VALUES (1), (2)", i))
		}
		diagnose(t, url).wantFinding(t, "problem", "columns", "audits.owner_id", "may hold any of 6 keys, by its name", "migrate plan --reference audits.owner_id=TABLE.KEY TABLE;")
		clitest.Execute(t, db, "DROP TABLE keys_5")
		diagnose(t, url).wantFinding(t, "problem", "columns", "audits.owner_id", "may hold keys_0.id or keys_1.id or keys_2.id or keys_3.id or keys_4.id, by its name", "")
	})
}

// doctor warns about a flag that names a missing table or column, and still runs all checks.
func TestDoctorMistypedColumns(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		createMoved(t, db, "orders", "VARCHAR(60) UNIQUE")
		d := diagnose(t, url, "--not-reference", "ordres.odd_id", "--reference", "orders.odd=orders.id", "--skip", "ordres")
		d.wantCounts(t, 0, 2)
		d.wantFinding(t, "warning", "columns", "", "--not-reference: table ordres cannot be read", "correct the flag")
		d.wantFinding(t, "warning", "columns", "", "--reference: table orders has no column odd", "correct the flag")
		d.wantFinding(t, "ok", "keys", "ordres", "it is not skipped: no table of this name", "")
		d.wantFinding(t, "ok", "serials", "orders.number", "a unique index keeps them apart", "")
		for flag, want := range map[string]string{"--reference=a.b": `--reference "a.b": want column=key`, "--not-reference=a": `--not-reference("a"): "a" is not the name of a column`} {
			clitest.WantOutcome(t, clitest.Command(t, "doctor", "--dsn", url, flag), clitest.Usage, "", "gormflake: "+want)
		}
	})
}

// doctor reports negative keys, because a generator never issues them.
func TestDoctorNegativeKeys(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		clitest.Execute(t, db, "CREATE TABLE orders (id "+snowflakeKey[db.Name()]+" PRIMARY KEY)", "INSERT INTO orders VALUES (-7), (5)")
		d := diagnose(t, url)
		d.wantCounts(t, 1, 0)
		d.wantFinding(t, "problem", "keys", "orders", "its smallest id, -7, is not positive", "--skip orders")
		diagnose(t, url, "--skip", "orders").wantCounts(t, 0, 0)
	})
}

// Two tables have keys that are not integers. doctor reports each of them, and still checks
// the other tables.
func TestDoctorMistypedKeys(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	db := clitest.Open(t, url)
	clitest.Execute(t, db, "CREATE TABLE odd (id BIGINT PRIMARY KEY)", "INSERT INTO odd VALUES ('x')", "CREATE TABLE points (id POINT PRIMARY KEY)", "INSERT INTO points VALUES (1.5)")
	createMoved(t, db, "orders", "VARCHAR(60)")
	d := diagnose(t, url)
	d.wantFinding(t, "problem", "keys", "odd", `its largest id, "x", is not an ID`, "--skip odd")
	d.wantFinding(t, "problem", "keys", "points", `its largest id, "1.5", is not an ID`, "--skip points")
	d.wantFinding(t, "warning", "serials", "orders.number", "no index keeps them unique", "")
}
