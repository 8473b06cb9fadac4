package sqlmigrate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// A plantedColumn is a column that the test creates. value returns the values of its rows.
type plantedColumn struct {
	table, column, typ string
	value              func(*rand.Rand) string
}

// key returns a function that returns a random key of a table with the keys 1 to most.
func key(most int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(existingKey(r, most)) }
}

// existingKey returns a random key of a table from which every twentieth row was deleted.
// These gaps tell references from other numbers, because a reference never holds a
// deleted key.
func existingKey(r *rand.Rand, most int) int {
	for {
		if n := 1 + r.IntN(most); n%20 != 0 {
			return n
		}
	}
}

// between returns a function that returns a random number. Unlike existingKey, it also
// returns multiples of 20, which are deleted keys.
func between(from, to int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(from + r.IntN(to-from+1)) }
}

// keys returns a function that returns an array of two random keys.
func keys(most int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprintf("'{%d,%d}'", existingKey(r, most), existingKey(r, most)) }
}

// The largest keys of the tables.
const (
	users = 2000
	posts = 1000
	staff = 25
)

// plantedReferences are columns that hold keys of users, posts and staff. For the columns of
// table mixed, the name alone does not show this. There, the evidence is a comment, a view or
// function that compares the column with the key, or the values.
var plantedReferences = []plantedColumn{
	{"audits", "user_id", "int", key(users)},
	{"audits", "creator_id", "int", key(users)},
	{"audits", "updater_id", "int", key(users)},
	{"audits", "deleted_by", "int", key(users)},
	{"audits", "assigned_to", "int", key(users)},
	{"campaigns", "last_subscriber_id", "int", key(users)},
	{"campaigns", "max_post_id", "int", key(posts)},
	{"campaigns", "post_ids", "array", keys(posts)},
	{"stores", "manager_staff_id", "smallint", key(staff)},
	{"stores", "id_owner", "int", key(users)},
	{"stores", "staffid", "smallint", key(staff)},
	{"stores", "recipient", "int", key(users)},
	{"stores", "author_fk", "int", key(users)},
	{"stores", "old_post_ref", "int", key(posts)},
	{"stores", "parentpostid", "int", key(posts)},
	{"mixed", "about", "int COMMENT", key(posts)},
	{"mixed", "seen", "int", key(posts)},
	{"mixed", "checked", "int", key(users)},
	{"mixed", "mate", "int", key(users)},
	{"mixed", "first_post", "int", key(posts)},
}

// harmless are columns that hold no keys of the moved tables. Some of them have values as
// references have, for example small numbers, and some have similar names.
var harmless = []plantedColumn{
	{"goods", "quantity", "int", between(1, 20)},
	{"goods", "position", "int", between(1, 300)},
	{"goods", "year", "smallint", between(1990, 2026)},
	{"goods", "status", "smallint", between(1, 4)},
	{"goods", "width", "int", between(10, 1900)},
	{"goods", "version", "int", between(1, 9)},
	{"goods", "retry_count", "int", between(0, 5)},
	{"goods", "paid", "smallint", between(0, 1)},
	{"goods", "grid", "int", between(1, 12)},
	{"goods", "valid", "smallint", between(0, 1)},
	{"goods", "priority", "int", between(1, 5)},
	{"goods", "stock", "int", between(0, 500)},
	{"goods", "price_cents", "int", between(1, 2000)},
	{"goods", "seats", "int", between(1, 60)},
	{"goods", "category_id", "int", between(1, 290)}, // of a table that is not moved
	{"goods", "external_id", "int", between(100_000, 2_000_000_000)},
	{"goods", "kind_id", "smallint", between(1, 6)}, // there is no table kind
	{"goods", "android", "int", between(7, 15)},
	{"goods", "posts_count", "int", between(0, 900)},
	{"goods", "birthday", "int", between(19_300_101, 20_101_231)},
}

// plant creates the tables of the columns with 400 rows each. typ translates a type into
// the dialect of the database.
func plant(t *testing.T, db *gorm.DB, columns []plantedColumn, typ func(string) string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	tables := map[string][]plantedColumn{}
	for _, c := range columns {
		tables[c.table] = append(tables[c.table], c)
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) { // sorted, so that r gives each table the same values in every run
		columns := tables[table]
		var parts []string
		for _, c := range columns {
			parts = append(parts, c.column+" "+typ(c.typ))
		}
		migratetest.Run(t, db, "CREATE TABLE "+table+" (n int PRIMARY KEY, "+strings.Join(parts, ", ")+")")
		var rows []string
		for n := range 400 {
			values := []string{fmt.Sprint(n + 1)}
			for _, c := range columns {
				values = append(values, c.value(r))
			}
			rows = append(rows, "("+strings.Join(values, ",")+")")
		}
		migratetest.Run(t, db, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ","))
	}
}

// plantKeys creates a table with the keys 1 to most, without every twentieth.
func plantKeys(t *testing.T, db *gorm.DB, table, key string, most int) {
	t.Helper()
	migratetest.Run(t, db, "CREATE TABLE "+table+" ("+key+" int PRIMARY KEY)")
	var rows []string
	for n := 1; n <= most; n++ {
		if n%20 != 0 {
			rows = append(rows, fmt.Sprintf("(%d)", n))
		}
	}
	migratetest.Run(t, db, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ","))
}

// plantSchema creates the moved tables, the planted and harmless columns, and the
// comment, view and functions that refer to the columns of table mixed.
func plantSchema(t *testing.T, db *gorm.DB) {
	t.Helper()
	plantKeys(t, db, "users", "id", users)
	plantKeys(t, db, "posts", "id", posts)
	plantKeys(t, db, "staff", "staff_id", staff)
	plantKeys(t, db, "categories", "id", 290)
	plant(t, db, slices.Concat(plantedReferences, harmless), func(typ string) string {
		switch {
		case typ == "array" && db.Name() == "postgres":
			return "int[]"
		case typ == "array":
			return "varchar(40)"
		case typ == "int COMMENT" && db.Name() == "mysql":
			return "int COMMENT 'the post''s ID'"
		}
		return strings.TrimSuffix(typ, " COMMENT")
	})
	migratetest.Run(t, db, "CREATE TABLE dense (id int PRIMARY KEY)", "INSERT INTO dense SELECT n FROM goods WHERE n <= 300")
	migratetest.Run(t, db, "CREATE VIEW seen_posts AS SELECT p.id FROM mixed AS m JOIN posts p ON (p.id = m.seen)")
	if db.Name() == "postgres" {
		migratetest.Run(
			t, db, "COMMENT ON COLUMN mixed.about IS 'the post''s ID'",
			"CREATE FUNCTION checked_user(n int) RETURNS bigint LANGUAGE sql AS 'SELECT u.id FROM users u WHERE u.id IN (SELECT x.checked FROM mixed x WHERE x.n = $1)'",
		)
	}
	if db.Name() == "mysql" {
		migratetest.Run(t, db, "CREATE FUNCTION checked_user(n int) RETURNS bigint READS SQL DATA RETURN (SELECT MAX(u.id) FROM users u WHERE u.id IN (SELECT x.checked FROM mixed x))")
	}
}
