package sqlmigrate_test

import (
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// handPlan returns a plan for SQLite that is written by hand. Phase widen has the
// statements "up 1" and "up 2", and [longStatement]. Phase guard has "up 4". The plan runs
// on f, which records the statements. If f is nil, the plan can only be printed.
func handPlan(f *sqlmigrate.FakeEngine) *sqlmigrate.Plan {
	p := &sqlmigrate.Plan{
		Dialect: "sqlite",
		Tables: []sqlmigrate.Table{
			{
				Name: "orders", Rows: 1_000_000, Bytes: 134_217_728, MaxKey: 1_000_000,
				Columns: []sqlmigrate.Column{
					{Name: "id", Type: "integer", To: "bigint", Key: true, Auto: "serial"},
					{Name: "manager_id", Type: "integer", To: "bigint", Refers: []string{"users.id", "people.id"}},
				},
			},
			{Schema: "shop", Name: "odd.name", Rows: 1, Bytes: 1, Columns: []sqlmigrate.Column{{Name: "id", Type: "bigint", Key: true}}},
		},
		Phases: []sqlmigrate.Phase{
			{
				Name: sqlmigrate.Widen,
				Steps: []sqlmigrate.Step{
					{
						Table: sqlmigrate.TableName{Name: "orders"}, Text: "id and manager_id become bigint",
						Up:   []sqlmigrate.Statement{{SQL: "up 1"}, {SQL: "up 2"}},
						Down: []sqlmigrate.Statement{{SQL: "down 1"}, {SQL: "down 2"}},
						Rows: 1_000_000, Bytes: 134_217_728, Rewrites: true, Estimate: 2300 * time.Millisecond,
						Locks: "ACCESS EXCLUSIVE on orders and on every table whose foreign key refers to it: reads and writes wait until the end",
					},
					{
						Table: sqlmigrate.TableName{Name: "lines"}, Text: "a foreign key is checked",
						Up:   []sqlmigrate.Statement{{SQL: "CREATE TABLE t (\n  id integer,\n  " + strings.Repeat("name text, ", 12) + "x text\n)"}},
						Down: []sqlmigrate.Statement{{SQL: "down 3"}},
						Rows: 10, Bytes: 9_999_999, Estimate: 90 * time.Minute,
					},
				},
				Check: []sqlmigrate.Statement{{SQL: "check 1"}},
			},
			{
				Name:  sqlmigrate.Guard,
				Steps: []sqlmigrate.Step{{Table: sqlmigrate.TableName{Name: "orders"}, Text: "a CHECK", Up: []sqlmigrate.Statement{{SQL: "up 4"}}, Down: []sqlmigrate.Statement{{SQL: "down 4"}}}},
				Check: []sqlmigrate.Statement{{SQL: "check 2"}},
			},
		},
		Notes: []string{"Restart programs that have prepared statements: " + strings.Repeat("words and ", 12) + "words."},
	}
	if f != nil {
		sqlmigrate.SetEngine(p, f)
	}
	return p
}

// blockedPlan returns a hand-written plan that has two blockers.
func blockedPlan() *sqlmigrate.Plan {
	p := handPlan(&sqlmigrate.FakeEngine{})
	p.Blockers = []sqlmigrate.Blocker{
		{Table: sqlmigrate.TableName{Name: "orders"}, Object: "view v_orders", Reason: "it uses column id", Fix: "drop it before and create it afterwards"},
		{Table: sqlmigrate.TableName{Name: "users"}, Object: "policy p", Reason: "it uses column id", Fix: "drop it"},
	}
	return p
}

// sqlite opens a new database of SQLite.
func sqlite(t *testing.T) *gorm.DB {
	t.Helper()
	return testdb.Open(t, testdb.SQLite)
}
