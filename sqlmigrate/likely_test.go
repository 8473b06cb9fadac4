package sqlmigrate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// The plan lists every planted reference under Likely, with the evidence for it, and none of
// the harmless columns. Table dense is moved too. Its keys have no gaps, so that every small
// number is one of its keys, and values alone must not suffice. FindReferences finds the same
// columns as the plan. On SQLite the plan lists no column, because every integer column is
// wide enough.
func TestLikelyReferences(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		plantSchema(t, db)
		plan := migratetest.MustInspect(t, db, "users", "posts", "staff", "dense")
		if db.Name() == "sqlite" { // in SQLite every integer column holds an ID
			if len(plan.Likely) > 0 {
				t.Errorf("found %+v", plan.Likely)
			}
			return
		}
		found := map[string]sqlmigrate.LikelyReference{}
		for _, l := range plan.Likely {
			found[l.Column] = l
		}
		for _, c := range plantedReferences { // only PostgreSQL has arrays
			if _, ok := found[c.table+"."+c.column]; !ok && (c.typ != "array" || db.Name() == "postgres") {
				t.Errorf("%s.%s is not found", c.table, c.column)
			}
		}
		var alarms []string
		for _, c := range harmless {
			if l, ok := found[c.table+"."+c.column]; ok {
				alarms = append(alarms, fmt.Sprintf("%s: %s", l.Column, l.Reason))
			}
		}
		if len(alarms) > 0 {
			t.Errorf("%d of %d harmless columns are found:\n%s", len(alarms), len(harmless), strings.Join(alarms, "\n"))
		}
		for column, reason := range map[string]string{
			"mixed.about": "its comment", "mixed.seen": "view seen_posts, which compares it with posts.id", "mixed.mate": "its values",
			"audits.user_id": "its name", "mixed.first_post": "its name and values",
		} {
			if got := found[column].Reason; !strings.Contains(got, reason) {
				t.Errorf("%s is found by %q, want %q", column, got, reason)
			}
		}
		if got := found["campaigns.post_ids"].Change; db.Name() == "postgres" && got != `ALTER TABLE "campaigns" ALTER COLUMN "post_ids" TYPE bigint[]` {
			t.Errorf("the change of an array is %q", got)
		}
		again, err := sqlmigrate.FindReferences(t.Context(), db, []string{"users.id", "posts.id", "staff.staff_id", "dense.id"})
		if err != nil || fmt.Sprint(again) != fmt.Sprint(plan.Likely) {
			t.Errorf("FindReferences: %v, %v, want what the plan has: %v", again, err, plan.Likely)
		}
		var current string
		if err := db.Raw(map[string]string{"mysql": "SELECT DATABASE()", "postgres": "SELECT current_schema()"}[db.Name()]).Scan(&current).Error; err != nil {
			t.Fatal(err)
		}
		again, err = sqlmigrate.FindReferences(t.Context(), db, []string{current + ".users.id", current + ".posts.id", current + ".staff.staff_id", current + ".dense.id"})
		if err != nil || fmt.Sprint(again) != fmt.Sprint(plan.Likely) {
			t.Errorf("FindReferences of keys with the current schema: %v, %v, want what the plan has: %v", again, err, plan.Likely)
		}
	})
}

// A primary key that the database does not assign can hold the keys of another table, as
// redirect.rd_from does in MediaWiki, and must be found. Here table redirect has keys of
// page, and table pointer has keys of revision. Table counted has numbers without gaps, as
// a counter assigns them, and table country has codes. The values of counted and country
// are keys of page by chance, so their primary keys must not be found.
func TestLikelyPrimaryKeys(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" {
			t.Skip("no column is too narrow")
		}
		fill := func(table string, n int, value func(int) int) {
			var rows []string
			for i := range n {
				rows = append(rows, fmt.Sprintf("(%d)", value(i)))
			}
			migratetest.Run(t, db, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ","))
		}
		for _, table := range []string{"page (page_id", "revision (rev_id", "redirect (rd_from", "pointer (pt_at", "counted (no", "country (code"} {
			migratetest.Run(t, db, "CREATE TABLE "+table+" int PRIMARY KEY)")
		}
		gap := func(i int) int { return 1 + i + i/7*3 } // counts, and skips 3 after every 7 numbers
		fill("page", 3000, func(i int) int { return 1 + i })
		fill("revision", 2000, gap)
		fill("redirect", 300, func(i int) int { return 7 + 9*i })
		fill("pointer", 100, func(i int) int { return gap(5 * i) })
		fill("counted", 2800, func(i int) int { return 1 + i })
		fill("country", 180, func(i int) int { return 4 + 5*i })
		for target, want := range map[string]string{
			"page":     "[redirect.rd_from by its values: all 200 that were looked up are keys, as a counter's may be]",
			"revision": "[pointer.pt_at by its values: all 100 that were looked up are keys]",
		} {
			var found []string
			for _, l := range migratetest.MustInspect(t, db, target).Likely {
				found = append(found, l.Column+" by "+l.Reason)
			}
			if got := fmt.Sprint(found); got != want {
				t.Errorf("%s: likely are %s, want %s", target, got, want)
			}
		}
		if found, err := sqlmigrate.FindReferences(t.Context(), db, []string{"page.page_id"}); err != nil || len(found) != 1 {
			t.Errorf("FindReferences: %v, %v, want redirect.rd_from alone", found, err)
		}
	})
}

// The plan understands how several applications name their columns. Some put the word for a
// key before the name of the table (id_address). Some have a prefix in the names of all
// tables, which the column leaves out (stage_id for ab_stages). Some put a qualifier before
// or after (from_stage_id, id_address_delivery). If a name fits a key that is itself a
// reference, such as member_stats.member_id, the plan suggests the key to which this
// reference leads, members.id. It does not list a column that counts.
func TestLikelyNamesOfApplications(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" {
			t.Skip("no column is too narrow")
		}
		migratetest.Run(
			t, db, "CREATE TABLE members (id int PRIMARY KEY)", "CREATE TABLE member_stats (member_id int PRIMARY KEY, FOREIGN KEY (member_id) REFERENCES members (id))",
			"CREATE TABLE ab_address (id_address int PRIMARY KEY)", "CREATE TABLE ab_stages (id int PRIMARY KEY)", "CREATE TABLE log_action (idaction int PRIMARY KEY)",
			"CREATE TABLE visits (n int PRIMARY KEY, id_address_delivery int, id_address_invoice int, exit_idaction_url int, from_stage_id int, total_actions int, creator_id int, member_id int)",
		)
		var keys, rows []string
		for n := 1; n <= 900; n++ {
			keys = append(keys, fmt.Sprintf("(%d)", n))
			rows = append(rows, fmt.Sprintf("(%[1]d, %[1]d, %[1]d, %[1]d, %[2]d, %[3]d, %[4]d, %[4]d)", n, 1+n%9, 1+n%40, 1+n*7%900))
		}
		for _, table := range []string{"members", "member_stats", "ab_address", "ab_stages", "log_action"} {
			migratetest.Run(t, db, "INSERT INTO "+table+" VALUES "+strings.Join(keys, ","))
		}
		migratetest.Run(t, db, "INSERT INTO visits VALUES "+strings.Join(rows, ","))
		var got []string
		for _, l := range migratetest.MustInspect(t, db, "members", "member_stats", "ab_address", "ab_stages", "log_action").Likely {
			got = append(got, l.Column+"="+l.Keys[0])
			if slices.Contains(l.Keys, "member_stats.member_id") {
				t.Errorf("%s may hold %q, want no key that is a reference itself", l.Column, l.Keys)
			}
		}
		want := []string{
			"visits.id_address_delivery=ab_address.id_address", "visits.id_address_invoice=ab_address.id_address", "visits.exit_idaction_url=log_action.idaction",
			"visits.from_stage_id=ab_stages.id", "visits.creator_id=ab_address.id_address", "visits.member_id=members.id",
		}
		if !slices.Equal(got, want) {
			t.Errorf("likely are %q, want %q", got, want)
		}
	})
}

// A column that the user declared with WithReference or WithoutReference is not listed
// under Likely any more, before and after the move. The tables also have columns that are
// never listed: columns with a foreign key, which are moved with it or belong to a table
// that is not moved, columns that are wide enough, and columns of a view.
func TestLikelyReferencesAnswered(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" {
			t.Skip("no column is too narrow")
		}
		migratetest.Run(
			t, db, "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE TABLE others (id int PRIMARY KEY)",
			"CREATE TABLE audits (order_id int, creator_id int, owner_id int, owner_type varchar(9), other_id int)",
			"CREATE TABLE constrained (order_id int, FOREIGN KEY (order_id) REFERENCES others (id))",
			"CREATE TABLE connected (order_id int, FOREIGN KEY (order_id) REFERENCES orders (id))",
			"CREATE TABLE wide (order_id bigint, creator_id varchar(20))",
			"CREATE VIEW recent AS SELECT creator_id FROM audits",
		)
		targets := []any{"orders", sqlmigrate.WithReference("audits.order_id", "orders.id")}
		plan := migratetest.MustInspect(t, db, targets...)
		if got, want := likelyColumns(plan), []string{"audits.creator_id", "audits.owner_id"}; !slices.Equal(got, want) {
			t.Errorf("likely are %q, want %q", got, want)
		}
		if reason := plan.Likely[1].Reason; reason != "its name, next to owner_type" {
			t.Errorf("audits.owner_id is found by %q", reason)
		}
		targets = append(targets, sqlmigrate.WithReference("audits.owner_id", "orders.id"), sqlmigrate.WithoutReference("audits.creator_id"))
		for range 2 { // before and after the move
			plan = migratetest.MustInspect(t, db, targets...)
			if got := likelyColumns(plan); len(got) > 0 || !slices.Equal(plan.NotReferences, []string{"audits.creator_id"}) {
				t.Errorf("likely are %q, and left out %q", got, plan.NotReferences)
			}
			if err := plan.Apply(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
		found, err := sqlmigrate.FindReferences(t.Context(), db, []string{"orders.id"})
		if err != nil || len(found) != 1 || found[0].Column != "audits.creator_id" {
			t.Errorf("after the move: %+v, %v, want audits.creator_id", found, err)
		}
	})
}

// likelyColumns returns the columns of plan.Likely.
func likelyColumns(plan *sqlmigrate.Plan) []string {
	var names []string
	for _, l := range plan.Likely {
		names = append(names, l.Column)
	}
	return names
}

// FindReferences returns an error for a column that does not exist and for a malformed
// name, and finds nothing without keys.
func TestLikelyReferenceMistakes(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	migratetest.Run(t, db, "CREATE TABLE orders (id integer PRIMARY KEY)")
	for name, test := range map[string]struct {
		keys []string
		opts []sqlmigrate.Option
		want string
	}{
		"no column":      {nil, []sqlmigrate.Option{sqlmigrate.WithoutReference("orders.odd")}, `WithoutReference: table orders has no column odd, but ["id"]`},
		"no table":       {nil, []sqlmigrate.Option{sqlmigrate.WithoutReference("odd.id")}, "WithoutReference: table odd cannot be read"},
		"no name":        {nil, []sqlmigrate.Option{sqlmigrate.WithoutReference("odd")}, `WithoutReference("odd"): "odd" is not the name of a column`},
		"no reference":   {nil, []sqlmigrate.Option{sqlmigrate.WithReference("orders.odd", "orders.id")}, "WithReference: table orders has no column odd"},
		"no name of key": {[]string{"orders"}, nil, `FindReferences: "orders" is not the name of a column`},
		"nil":            {nil, []sqlmigrate.Option{nil}, "FindReferences: option 1 is nil"},
	} {
		_, err := sqlmigrate.FindReferences(t.Context(), db, test.keys, test.opts...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	if found, err := sqlmigrate.FindReferences(t.Context(), db, nil); err != nil || found != nil {
		t.Errorf("no keys: %v, %v", found, err)
	}
}

// In SQLite every integer column holds 64 bits, but a column with affinity REAL rounds large
// integers, so it is too narrow. The test first shows that SQLite rounds a Snowflake ID in
// such a column.
func TestLikelyReferencesInSQLite(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	migratetest.Run(
		t, db, "CREATE TABLE orders (id integer PRIMARY KEY)",
		"CREATE TABLE audits (order_id real, parent_order_id smallint, last_order_id double precision, total real, creator_id float REFERENCES others (id))",
		"CREATE TABLE others (id real PRIMARY KEY)",
		"CREATE TABLE strict (order_id int, parent_order_id real) STRICT",
	)
	for _, column := range []string{"order_id", "parent_order_id"} {
		migratetest.Run(t, db, "INSERT INTO audits ("+column+") VALUES (2124189853926044565)")
	}
	var kept []string
	if err := db.Raw("SELECT CAST(coalesce(order_id, parent_order_id) AS text) FROM audits").Scan(&kept).Error; err != nil {
		t.Fatal(err)
	}
	if kept[0] == "2124189853926044565" || kept[1] != "2124189853926044565" {
		t.Errorf("the columns hold %q, want the first to be rounded", kept)
	}
	got := likelyColumns(migratetest.MustInspect(t, db, "orders"))
	if want := []string{"audits.order_id", "audits.last_order_id", "strict.parent_order_id"}; !slices.Equal(got, want) {
		t.Errorf("likely are %q, want %q", got, want)
	}
}

// Likely lists integers in arrays, domains and composite types of PostgreSQL, besides plain
// columns. The plan cannot widen an array, a domain or a composite type, so the field Change
// says what the user has to do. After the test has executed each ALTER TABLE of Change, and
// declared the other columns by options, Likely is empty.
func TestLikelyReferencesInTypes(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	migratetest.Run(
		t, db, "CREATE TABLE orders (id int PRIMARY KEY)",
		"CREATE DOMAIN small AS int", "CREATE DOMAIN smalls AS small[]",
		"CREATE TYPE inner_part AS (order_id int, total int)", "CREATE TYPE part AS (inside inner_part, order_ids int[])",
		`CREATE TABLE typed (order_ids int[], last_order_id small, old_order_ids smalls, part part, "Odd.Order_id" int, order_range int4range, total int)`,
		"CREATE TABLE parted (order_id int, day int) PARTITION BY LIST (day)",
		"CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1)",
		"INSERT INTO orders SELECT generate_series(1, 50)",
		"INSERT INTO typed (order_ids, part) SELECT ARRAY[n], ROW(ROW(n, n)::inner_part, ARRAY[n])::part FROM generate_series(1, 50) n",
	)
	plan := migratetest.MustInspect(t, db, "orders")
	want := []string{"parted.order_id", "typed.order_ids", "typed.last_order_id", "typed.old_order_ids", `typed."part.inside.order_id"`, `typed."part.order_ids"`, `typed."Odd.Order_id"`}
	if got := likelyColumns(plan); !slices.Equal(got, want) {
		t.Errorf("likely are %q, want %q", got, want)
	}
	var options []any
	for _, l := range plan.Likely {
		switch {
		case strings.HasPrefix(l.Change, "ALTER TABLE"):
			migratetest.Run(t, db, l.Change)
		case strings.Contains(l.Change, "create a type like "):
			options = append(options, sqlmigrate.WithoutReference(l.Column))
		default:
			options = append(options, sqlmigrate.WithReference(l.Column, l.Keys[0]))
		}
	}
	if got := likelyColumns(migratetest.MustInspect(t, db, append(options, "orders")...)); len(got) > 0 {
		t.Errorf("after the changes, likely are %q", got)
	}
}

// Tables with the same name in two schemas are distinguished, so that order_id refers to
// the orders of its own schema. A column can be named with or without the current schema.
func TestLikelyReferencesInSchema(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE TABLE audits (order_id int, creator_id int)")
		second := migratetest.MySQLSecond(t, db)
		migratetest.MySQLExec(t, db, "CREATE TABLE "+second+".orders (id int PRIMARY KEY)", "CREATE TABLE "+second+".lines_of (order_id int)")
		for target, want := range map[string][]string{
			"orders":           {"audits.order_id", "audits.creator_id"},
			second + ".orders": {"audits.creator_id", second + ".lines_of.order_id"},
		} {
			if got := likelyColumns(migratetest.MySQLInspect(t, db, target)); !slices.Equal(got, want) {
				t.Errorf("likely of a plan for %s: %q, want %q", target, got, want)
			}
		}
		var current string
		if err := db.Raw("SELECT DATABASE()").Scan(&current).Error; err != nil {
			t.Fatal(err)
		}
		got := likelyColumns(migratetest.MySQLInspect(t, db, "orders", sqlmigrate.WithoutReference(current+".audits.creator_id")))
		if !slices.Equal(got, []string{"audits.order_id"}) {
			t.Errorf("likely are %q, want audits.order_id alone", got)
		}
		// A column of another schema than the keys is found if the caller names it.
		elsewhere := sqlmigrate.WithReference(second+".lines_of.order_id", "orders.id")
		found, err := sqlmigrate.FindReferences(t.Context(), db, []string{"orders.id"}, elsewhere)
		if err != nil || !slices.ContainsFunc(found, func(l sqlmigrate.LikelyReference) bool { return l.Column == second+".lines_of.order_id" }) {
			t.Errorf("FindReferences = %+v, %v, want the column of another schema, which an option names", found, err)
		}
	})
}

// A column that WithReference names and that is no integer is a blocker. The fix of the
// blocker is a statement that makes this type wide enough, and that works. For a type that
// cannot hold these keys, the fix is to leave the reference out.
func TestFixFitsType(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	migratetest.Run(t, db, "CREATE TABLE posts (id int PRIMARY KEY)", "CREATE TABLE pools (post_ids int[], post_key uuid, post_no real, post_text varchar(9))")
	for column, want := range map[string]string{
		"post_ids": `TYPE bigint[]`, "post_no": `TYPE bigint`, "post_text": `TYPE varchar(19)`,
		"post_key": "leave the reference out: values of this type are not these keys",
	} {
		reference := sqlmigrate.WithReference("pools."+column, "posts.id")
		plan := migratetest.MustInspect(t, db, "posts", reference)
		if len(plan.Blockers) != 1 || !strings.HasSuffix(plan.Blockers[0].Fix, want) {
			t.Errorf("%s: blockers %+v, want one with the fix %s", column, plan.Blockers, want)
			continue
		}
		if _, statement, found := strings.Cut(plan.Blockers[0].Fix, ": ALTER"); found {
			migratetest.Run(t, db, "ALTER"+statement)
			if plan := migratetest.MustInspect(t, db, "posts", reference); len(plan.Blockers) > 0 {
				t.Errorf("%s: after the fix, blockers %+v", column, plan.Blockers)
			}
		}
	}
}

// A table that was never analyzed has no estimate of its rows, and the plan must not
// print that it has 0 rows. A table that is really empty is not reported as not analyzed.
func TestNotAnalyzed(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	migratetest.Run(t, db, "CREATE TABLE orders (id int PRIMARY KEY) WITH (autovacuum_enabled = off)", "CREATE TABLE others (id int PRIMARY KEY)")
	orders := func() sqlmigrate.Table { t.Helper(); return migratetest.MustInspect(t, db, "orders").Tables[0] }
	if table := orders(); table.NotAnalyzed {
		t.Errorf("an empty table: %+v", table)
	}
	migratetest.Run(t, db, "INSERT INTO orders SELECT generate_series(1, 5000)")
	if table := orders(); !table.NotAnalyzed || table.Rows != 0 || table.Bytes == 0 {
		t.Errorf("before ANALYZE: %+v", table)
	}
	if text := migratetest.MustInspect(t, db, "orders").String(); !strings.Contains(text, "  orders: not analyzed, ") || strings.Contains(text, "0 rows") {
		t.Errorf("before ANALYZE:\n%s", text)
	}
	migratetest.Run(t, db, "ANALYZE orders")
	if table := orders(); table.NotAnalyzed || table.Rows != 5000 {
		t.Errorf("after ANALYZE: %+v", table)
	}
}
