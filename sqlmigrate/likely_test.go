package sqlmigrate_test

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// A column that has the name of a reference, and nothing that says so, is
// pointed out and left alone.
func TestLikelyReferences(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		run(t, db,
			"CREATE TABLE orders (id int PRIMARY KEY, order_id int)",
			"CREATE TABLE others (id int PRIMARY KEY)",
			"CREATE TABLE user_accounts (id int PRIMARY KEY)",
			"CREATE TABLE news (id int PRIMARY KEY)",
			"CREATE TABLE named (order_id int)",
			"CREATE TABLE constrained (order_id int, FOREIGN KEY (order_id) REFERENCES others (id))",
			"CREATE TABLE moved (order_id int, FOREIGN KEY (order_id) REFERENCES orders (id))",
			"CREATE TABLE audits (order_id int NOT NULL, user_account_id smallint, news_id int, border_id int, orders varchar(9))",
			"CREATE TABLE archive (orders_id int, order_id bigint, user_account_id varchar(20))",
			"CREATE VIEW recent AS SELECT order_id FROM audits")
		targets := []any{"orders", "user_accounts", "news", sqlmigrate.WithReference("named.order_id", "orders.id")}
		plan, err := sqlmigrate.Inspect(t.Context(), db, targets...)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if plan.Dialect != "sqlite" { // there, every integer column holds an ID
			want = []string{
				likelyNote("archive.orders_id", "orders.id"), likelyNote("audits.news_id", "news.id"),
				likelyNote("audits.order_id", "orders.id"), likelyNote("audits.user_account_id", "user_accounts.id"),
			}
		}
		if got := likelyNotes(plan); !slices.Equal(got, want) {
			t.Errorf("notes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, table := range plan.Tables {
			if table.Name == "audits" || table.Name == "archive" {
				t.Errorf("table %s is in the plan", table.Name)
			}
		}
		if err := plan.Apply(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		again, err := sqlmigrate.Inspect(t.Context(), db, targets...)
		if err != nil || !again.Empty() || !slices.Equal(likelyNotes(again), want) {
			t.Errorf("a second plan: %v, want an empty one with the same notes:\n%v", err, again)
		}
		named := append(slices.Clone(targets), sqlmigrate.WithReference("audits.order_id", "orders.id"), sqlmigrate.WithReference("audits.user_account_id", "user_accounts.id"),
			sqlmigrate.WithReference("audits.news_id", "news.id"), sqlmigrate.WithReference("archive.orders_id", "orders.id"))
		if last, err := sqlmigrate.Inspect(t.Context(), db, named...); err != nil || len(likelyNotes(last)) > 0 {
			t.Errorf("a plan with all of them named: %v, want no note:\n%v", err, last)
		}
	})
}

func likelyNote(column, key string) string {
	return "Column " + column + ` looks like a reference to ` + key + ` and is not moved: if it is one, name it with WithReference("` + column + `", "` + key + `").`
}

func likelyNotes(plan *sqlmigrate.Plan) []string {
	var found []string
	for _, note := range plan.Notes {
		if strings.Contains(note, "looks like a reference") {
			found = append(found, note)
		}
	}
	return found
}

// Tables of one name in several schemas are told apart.
func TestLikelyReferencesInSchema(t *testing.T) {
	t.Parallel()
	db := mysqlOpen(t, "CREATE TABLE orders (id int PRIMARY KEY)", "CREATE TABLE audits (order_id int)")
	second := mysqlSecond(t, db)
	mysqlExec(t, db, "CREATE TABLE "+second+".orders (id int PRIMARY KEY)", "CREATE TABLE "+second+".lines_of (order_id int)")
	for target, want := range map[string]string{
		"orders":           likelyNote("audits.order_id", "orders.id"),
		second + ".orders": likelyNote(second+".lines_of.order_id", second+".orders.id"),
	} {
		if got := likelyNotes(mysqlInspect(t, db, target)); !slices.Equal(got, []string{want}) {
			t.Errorf("notes of a plan for %s: %q, want %q", target, got, want)
		}
	}
}

// GORM's polymorphic relations have no constraint, and a second column next
// to the reference that names the table.
func TestLikelyPolymorphicReferences(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		run(t, db,
			"CREATE TABLE orders (id int PRIMARY KEY)",
			"CREATE TABLE attachments (owner_id int, owner_type varchar(20))",
			"CREATE TABLE wide (owner_id bigint, owner_type varchar(20))",
			"CREATE TABLE plain (owner_id int, other_type varchar(20))",
			"CREATE TABLE named (owner_id int, owner_type varchar(20))")
		plan, err := sqlmigrate.Inspect(t.Context(), db, "orders", sqlmigrate.WithReference("named.owner_id", "orders.id"))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, note := range plan.Notes {
			if strings.Contains(note, "polymorphic") {
				found = append(found, note)
			}
		}
		var want []string
		if plan.Dialect != "sqlite" { // there, every integer column holds an ID
			want = []string{`Column attachments.owner_id, next to owner_type, looks like a polymorphic reference and is not moved: if it refers to keys of this plan, name it with WithReference("attachments.owner_id", …) for each of them.`}
		}
		if !slices.Equal(found, want) {
			t.Errorf("notes:\n%s\nwant:\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
		}
	})
}
