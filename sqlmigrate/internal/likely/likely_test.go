package likely_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/likely"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// The name of a column shows whether the column may refer to a key. All columns are of table
// audits, and keys are the keys that are moved. The meaning is named if the name means one of
// the keys, weak if it may mean one of them, elsewhere if it means a table whose key is not
// in keys, role if it means a row of a table that it does not name, as creator_id does, and
// empty if it means no key.
func TestNames(t *testing.T) {
	t.Parallel()
	var all []plan.TableName
	for _, name := range []string{"users", "orders", "order_lines", "order_types", "statuses", "staff", "auth_members", "audits", "log_address", "log_action", "ps_stages", "user_stats", "audit_kinds"} {
		all = append(all, plan.TableName{Name: name})
	}
	keys := []likely.Key{ // of the tables whose keys have these names
		{Table: all[0], Column: "id"},
		{Table: all[1], Column: "id"},
		{Table: all[5], Column: "staff_id"},
		{Table: all[6], Column: "mid"},
		{Table: all[8], Column: "id_address"},
		{Table: all[9], Column: "idaction"},
		{Table: all[10], Column: "id"},
		{Table: all[11], Column: "user_id"},
		{Table: all[12], Column: "id"},
	}
	survey := &engine.Survey{Tables: all, Columns: narrowColumns(keys)}
	for _, test := range []struct{ column, meaning, key string }{
		{"user_id", "named", "users.id"},
		{"users_id", "named", "users.id"},
		{"userId", "named", "users.id"},
		{"USER_ID", "named", "users.id"},
		{"userid", "named", "users.id"},
		{"UserIDs", "named", "users.id"},
		{"last_user_id2", "named", "users.id"},
		{"user_id_old", "named", "users.id"},
		{"id_user", "named", "users.id"},
		{"fk_user_id", "named", "users.id"},
		{"lastuserid", "named", "users.id"},
		{"order_fk", "named", "orders.id"},
		{"manager_staff_id", "named", "staff.staff_id"},
		{"member_id", "named", "auth_members.mid"},
		{"mid", "named", "auth_members.mid"},
		{"id_address", "named", "log_address.id_address"},
		{"id_address_delivery", "named", "log_address.id_address"},
		{"id_user_sent", "named", "users.id"},
		{"visit_exit_idaction_url", "named", "log_action.idaction"},
		{"from_stage_id", "named", "ps_stages.id"},
		{"google_stage_id", "", ""},
		{"id_of_address", "", ""},
		{"visit_total_users", "", ""},
		{"num_orders", "", ""},
		{"amid", "", ""},
		{"creator_id", "role", ""},
		{"external_ids", "role", ""},
		{"ownerid", "role", ""},
		{"created_by", "role", ""},
		{"merged_into", "role", ""},
		{"reports_to", "role", ""},
		{"parent", "role", ""},
		{"user", "weak", "users.id"},
		{"first_order", "weak", "orders.id"},
		{"order_no", "weak", "orders.id"},
		{"order_num", "weak", "orders.id"},
		{"order_line_id", "elsewhere", ""},
		{"status_id", "elsewhere", ""},
		{"kind_id", "named", "audit_kinds.id"},
		{"kind", "weak", "audit_kinds.id"},
		{"order_count", "", ""},
		{"sort_order", "", ""},
		{"number", "", ""},
		{"sort_by", "", ""},
		{"valid_to", "", ""},
		{"id_card", "", ""},
		{"paid", "", ""},
		{"grid", "", ""},
		{"valid", "", ""},
		{"border", "", ""},
		{"quantity", "", ""},
		{"id", "", ""},
		{"42", "", ""},
	} {
		meaning, key := likely.Meaning(survey, keys, plan.TableName{Name: "audits"}, test.column)
		if meaning != test.meaning || key != test.key {
			t.Errorf("%s means %q, %q, want %q, %q", test.column, meaning, key, test.meaning, test.key)
		}
	}
	// In table orders, type_id refers to order_types, whose key is not given.
	if meaning, _ := likely.Meaning(survey, keys, plan.TableName{Name: "orders"}, "type_id"); meaning != "" && meaning != "elsewhere" {
		t.Errorf("orders.type_id means %q, want the key of order_types", meaning)
	}
}

// narrowColumns returns the keys as columns of a survey. The database does not assign
// them.
func narrowColumns(keys []likely.Key) (columns []engine.NarrowColumn) {
	for _, key := range keys {
		columns = append(columns, engine.NarrowColumn{Table: key.Table, Name: key.Column})
	}
	return columns
}

// A qualifier such as main or new can be a part of a table's name. main_account_id refers
// to shop_main_accounts, whose name has all words of the column, and not to bank_accounts.
// new_account_id may refer to either table, because neither name has the word new. The
// survey has bank_accounts first, so the key of bank_accounts is the first.
func TestNamesWithQualifiers(t *testing.T) {
	t.Parallel()
	main, bank := plan.TableName{Name: "shop_main_accounts"}, plan.TableName{Name: "bank_accounts"}
	keys := []likely.Key{{Table: main, Column: "id"}, {Table: bank, Column: "id"}}
	for column, want := range map[string]string{"main_account_id": "shop_main_accounts.id", "new_account_id": "bank_accounts.id"} {
		// The name of the second table is first, so that the order of the keys does not decide.
		survey := &engine.Survey{Tables: []plan.TableName{bank, main}}
		if meaning, key := likely.Meaning(survey, keys, plan.TableName{Name: "audits"}, column); meaning != "named" || key != want {
			t.Errorf("%s means %q, %q, want named, %q", column, meaning, key, want)
		}
	}
}

// If the name of a column means a key that refers to another key, the other key is
// suggested. For example, item_id means order_items.item_id, which refers to items.id. The
// keys are narrow and not assigned by the database, unless the case says otherwise.
func TestOwners(t *testing.T) {
	t.Parallel()
	key := func(table, column string) likely.Key {
		return likely.Key{Table: plan.TableName{Name: table}, Column: column}
	}
	refers := func(table, column, toTable, toColumn string) []engine.Reference {
		return []engine.Reference{{Table: plan.TableName{Name: table}, Column: column, ToTable: plan.TableName{Name: toTable}, ToColumn: toColumn}}
	}
	items := []likely.Key{key("items", "id"), key("order_items", "item_id")}
	profiles := []likely.Key{key("users", "id"), key("profiles", "id")}
	cycle := []likely.Key{key("users", "account_id"), key("accounts", "user_id")}
	for name, test := range map[string]struct {
		keys            []likely.Key
		columns         []engine.NarrowColumn
		foreign         []engine.Reference
		column, meaning string
		want            string
	}{
		"by its name":       {items, narrowColumns(items), nil, "item_id", "named", "items.id"},
		"assigned":          {items, []engine.NarrowColumn{{Table: items[1].Table, Name: "item_id", Assigned: true}}, nil, "item_id", "named", "order_items.item_id"},
		"wide":              {items, nil, nil, "item_id", "named", "order_items.item_id"},
		"wide, foreign key": {items, nil, refers("order_items", "item_id", "items", "id"), "item_id", "named", "items.id"},
		"by its table":      {profiles, nil, refers("profiles", "id", "users", "id"), "profile_id", "named", "users.id"},
		"without an id":     {profiles, nil, refers("profiles", "id", "users", "id"), "profile", "weak", "users.id"},
		"in a cycle":        {cycle, narrowColumns(cycle), nil, "user_id", "named", "users.account_id"},
	} {
		survey := &engine.Survey{Columns: test.columns, ForeignKeys: test.foreign}
		meaning, got := likely.Meaning(survey, test.keys, plan.TableName{Name: "audits"}, test.column)
		if meaning != test.meaning || got != test.want {
			t.Errorf("%s: %s means %q, %q, want %q, %q", name, test.column, meaning, got, test.meaning, test.want)
		}
	}
}

// A comparison in a view or function shows which columns hold the same keys, also with
// aliases, quotes, casts and subqueries. The keys of the map are definitions. The values
// are the pairs of columns of the tables a and b that they compare, or nil if they
// compare none. The last definition ends early, as a text that is cut.
func TestJoins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"SELECT * FROM a JOIN b ON a.x = b.id":                                          {"a.x=b.id"},
		`SELECT * FROM ("s"."a" "q" JOIN b AS r ON ((q.x = (r.id)::integer)))`:          {"a.x=b.id"},
		"select `q`.`n` from (`d`.`a` `q` join `d`.`b` on((`d`.`b`.`id` = `q`.`x`)))":   {"b.id=a.x"},
		"SELECT 1 FROM a q WHERE q.x IN (SELECT DISTINCT b.id FROM b)":                  {"a.x=b.id"},
		"SELECT 1 FROM a q, b WHERE b.id = ANY (q.list)":                                {"b.id=a.list"},
		"-- a.x = b.id\nSELECT ' a.x = b.id ' FROM a, b /* a.x = b.id */ WHERE a.y = 1": nil,
		"SELECT * FROM a JOIN c ON a.x = c.id":                                          nil,
		"SELECT * FROM a WHERE x >= 1 AND a.x <= 2":                                     nil,
		`SELECT * FROM "a" AS "q""r" JOIN b ON "q""r".x = b.id`:                         {"a.x=b.id"},
		"UPDATE a SET x = b.id FROM b WHERE a.":                                         nil,
	} {
		if got := likely.Joins(text, "a", "b"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A comment of a column shows that the column holds a key of order_lines if the comment names
// the key, or the table together with a word for a key. The keys of the map are comments, and
// the values say whether a comment shows this.
func TestComments(t *testing.T) {
	t.Parallel()
	key := likely.Key{Table: plan.TableName{Name: "order_lines"}, Column: "id"}
	for comment, want := range map[string]bool{
		"the ID of the order line": true,
		"see order_lines.id":       true,
		"references order_lines":   true,
		"FK: OrderLines":           true,
		"position of the line":     false,
		"how many order lines":     false,
		"ID of an order":           false,
		"":                         false,
	} {
		if got := likely.Mentions(comment, key); got != want {
			t.Errorf("%q: %t, want %t", comment, got, want)
		}
	}
}

// Probes are random numbers that are looked up as keys, besides the values of a column. They
// show which part of all numbers are keys, and so how much it means that the values are keys.
// They must lie between the smallest and the largest value of the column's sample. This also
// holds if the difference of these values exceeds the largest int64, for example if a column
// has a negative number and a Snowflake ID.
func TestProbes(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string][2]int64{
		"one value": {7, 7}, "neighbours": {-1, 0}, "wide": {-5, math.MaxInt64}, "all numbers": {math.MinInt64, math.MaxInt64},
	} {
		values := slices.Repeat([]int64{ends[0]}, likely.MinValues)
		values = append(values, ends[1])
		probes := likely.Probes(100, values...)
		if len(probes) != 100 || slices.Min(probes) < ends[0] || slices.Max(probes) > ends[1] {
			t.Errorf("%s: %d probes from %d to %d, want 100 from %d to %d", name, len(probes), slices.Min(probes), slices.Max(probes), ends[0], ends[1])
		}
	}
}
