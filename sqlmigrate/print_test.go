package sqlmigrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// printedPlan is the text of handPlan with all details.
const printedPlan = `sqlite: 2 tables, 2 phases, about 1.5 h

Summary
  tables: 2, 1,000,001 rows, 134 MB
  longest lock: about 1.5 h, in phase widen
  disk: 134 MB more for a while, and about as much log

Notes
  - Restart programs that have prepared statements: words and words and words and words and words
    and words and words and words and words and words and words and words and words.

Tables
  orders: 1,000,000 rows, 134 MB, largest key 1000000
    id integer -> bigint, key, serial
    manager_id integer -> bigint, refers to users.id and people.id
  shop."odd.name": 1 row, 1 byte
    id bigint, key

Phase widen: 2 steps, about 1.5 h
  orders: id and manager_id become bigint
    rewrites 1,000,000 rows, 134 MB; about 2.3 s
    locks: ACCESS EXCLUSIVE on orders and on every table whose foreign key refers to it: reads and
      writes wait until the end
      up 1;
      up 2;
  lines: a foreign key is checked
    reads 10 rows, 10 MB; about 1.5 h
      CREATE TABLE t (
        id integer,
        name text, name text, name text, name text, name text, name text, name text, name text, name
          text, name text, name text, name text, x text
      );

Phase guard: 1 step, at once
  orders: a CHECK
    changes the catalog only; at once
      up 4;
`

// String prints the whole plan, in lines of at most 100 characters.
func TestString(t *testing.T) {
	t.Parallel()
	if got := handPlan(nil).String(); got != printedPlan {
		t.Errorf("printed:\n%s\nwant:\n%s", got, printedPlan)
	}
	for line := range strings.SplitSeq(printedPlan, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d characters in %q, want at most 100", n, line)
		}
	}
}

// The text names each blocking object once, with all its tables and reasons, and each fix
// once for successive objects. "column id" of two tables is two objects. For the likely
// references, a program can replace the names of options, for example by flags.
func TestTextOfBlocked(t *testing.T) {
	t.Parallel()
	p := handPlan(nil)
	p.Tables[0].Rows, p.Tables[0].NotAnalyzed = 0, true
	uses := func(column string) string { return "it uses column " + column }
	p.Blockers = []sqlmigrate.Blocker{
		{Table: sqlmigrate.TableName{Name: "orders"}, Object: "view v_orders", Reason: uses("id"), Fix: "drop it"},
		{Table: sqlmigrate.TableName{Name: "users"}, Object: "policy p", Reason: uses("id"), Fix: "alter it"},
		{Table: sqlmigrate.TableName{Name: "users"}, Object: "view v_orders", Reason: uses("id"), Fix: "drop it"},
		{Table: sqlmigrate.TableName{Name: "lines"}, Object: "view v_orders", Reason: uses("order_id"), Fix: "drop it"},
		{Table: sqlmigrate.TableName{Name: "lines"}, Object: "view v_lines", Reason: uses("order_id"), Fix: "drop it"},
		{Table: sqlmigrate.TableName{Name: "users"}, Object: "column id", Reason: "it is a uuid", Fix: "leave it out"},
		{Table: sqlmigrate.TableName{Name: "lines"}, Object: "column id", Reason: "it is a uuid", Fix: "leave it out"},
	}
	p.Likely = []sqlmigrate.LikelyReference{
		{Column: "audit.order_id", Type: "integer", Keys: []string{"orders.id", "users.id"}, Reason: "its name"},
		{Column: "audit.made_by", Type: "integer", Reason: "its name"},
		{Column: "audit.owner_id", Type: "integer", Keys: strings.Fields(strings.Repeat("some.id ", 57)), Reason: "its name"},
		{Column: "audit.order_ids", Type: "integer[]", Reason: "its name", Change: "ALTER TABLE audit"},
	}
	p.Phases = p.Phases[1:]
	const head = `sqlite: 2 tables, 5 blockers: nothing will be changed

Summary
  tables: 2, 1 row, 134 MB (1 not analyzed: rows unknown)
  longest lock: a moment, in phase guard

Blocked by
  view v_orders, of orders, users, lines: it uses column id; it uses column order_id
  view v_lines, of lines: it uses column order_id
    fix: drop it
  policy p, of users: it uses column id
    fix: alter it
  column id, of users: it is a uuid
  column id, of lines: it is a uuid
    fix: leave it out

Too narrow for a Snowflake ID, may hold keys, and not moved
`
	const tail = `
Notes
  - Restart programs that have prepared statements: words and words and words and words and words
    and words and words and words and words and words and words and words and words.

Tables
  orders: not analyzed, 134 MB, largest key 1000000
  shop."odd.name": 1 row, 1 byte

Phase guard: 1 step, at once, 1 statement
`
	const options = `  audit.order_id integer, by its name: WithReference("audit.order_id", "orders.id"), or users.id
  audit.made_by integer, by its name: WithReference("audit.made_by", "TABLE.KEY")
  audit.owner_id integer, by its name: WithReference("audit.owner_id", "TABLE.KEY"), any of 57 keys
  audit.order_ids integer[], by its name: ALTER TABLE audit
  For a column that holds no keys: WithoutReference("COLUMN")
`
	const flags = `  audit.order_id integer, by its name: --reference audit.order_id=orders.id, or users.id
  audit.made_by integer, by its name: --reference audit.made_by=TABLE.KEY
  audit.owner_id integer, by its name: --reference audit.owner_id=TABLE.KEY, any of 57 keys
  audit.order_ids integer[], by its name: ALTER TABLE audit
  For a column that holds no keys: --not-reference COLUMN
`
	flagged := sqlmigrate.Style{
		Reference:    func(column, key string) string { return "--reference " + column + "=" + key },
		NotReference: func(column string) string { return "--not-reference " + column },
	}
	for middle, style := range map[string]sqlmigrate.Style{options: {}, flags: flagged} {
		if got := p.Text(style); got != head+middle+tail {
			t.Errorf("got:\n%s\nwant:\n%s", got, head+middle+tail)
		}
	}
}

// If there are many blockers of a kind, the text without details has one entry for them.
// The entry names three of the objects, with the table of a column or primary key, by which
// the reader finds the object. If reasons do not hold for all objects, the entry marks them
// as examples. The last line of the text refers to the details. In omissions, the name of a
// column already contains the table, and the entry must not add the table again.
func TestTextOfManyBlockers(t *testing.T) {
	t.Parallel()
	const last = "\nOf many objects of a kind, only the first are named. The details name all.\n"
	for name, test := range map[string]struct {
		table, object, reason string // %d is the number of the blocker
		want                  string
	}{
		"no key":           {"t%d", "primary key", "the table has none", "  primary key of t1, primary key of t2, primary key of t3 and 3 more, of t1, t2, t3 and 3 more: the\n    table has none\n"},
		"column":           {"t%d", "column id", "it is a uuid", "  column id of t1, column id of t2, column id of t3 and 3 more, of t1, t2, t3 and 3 more: it is a\n    uuid\n"},
		"column of table":  {"t%d", "column id of table t%d", "it is odd", "  column id of table t1, column id of table t2, column id of table t3 and 3 more, of t1, t2, t3 and\n    3 more: it is odd\n"},
		"views of a table": {"t", "view v%d", "it uses id", "  view v1, view v2, view v3 and 3 more, of t: it uses id\n"},
		"reasons":          {"t", "view v%d", "it uses c%d", "  view v1, view v2, view v3 and 3 more, of t: for example: it uses c1; it uses c2; it uses c3; it\n    uses c4; it uses c5; and so on\n"},
	} {
		p := &sqlmigrate.Plan{Dialect: "postgres"}
		for i := range 6 {
			of := func(text string) string { return strings.ReplaceAll(text, "%d", fmt.Sprint(i+1)) }
			p.Blockers = append(p.Blockers, sqlmigrate.Blocker{Table: sqlmigrate.TableName{Name: of(test.table)}, Object: of(test.object), Reason: of(test.reason), Fix: "leave it out"})
		}
		if got, want := p.Text(sqlmigrate.Style{}), "\nBlocked by\n"+test.want+"    fix: leave it out\n"+last; !strings.HasSuffix(got, want) {
			t.Errorf("%s: got:\n%s\nwant at its end:\n%s", name, got, want)
		}
		if got := p.String(); strings.Contains(got, "more") || strings.Contains(got, last) {
			t.Errorf("%s: the details are shortened:\n%s", name, got)
		}
	}
}

// A text without details lists only the 20 largest tables, and String lists all.
func TestTextOfManyTables(t *testing.T) {
	t.Parallel()
	p := &sqlmigrate.Plan{Dialect: "postgres"}
	for n := range 30 {
		p.Tables = append(p.Tables, sqlmigrate.Table{Name: fmt.Sprintf("t%02d", n), Bytes: int64(n) + 1})
	}
	got := p.Text(sqlmigrate.Style{})
	if !strings.Contains(got, "Tables\n  t29: 30 bytes\n") || !strings.HasSuffix(got, "\n  t10: 11 bytes\n  and 10 smaller ones\n") {
		t.Errorf("printed:\n%s", got)
	}
	if got := p.String(); !strings.Contains(got, "t00: 1 byte\n") {
		t.Errorf("printed:\n%s", got)
	}
}

// A transaction holds its locks and keeps its copies of tables until its end, so
// LongestLock and Disk add the steps of a phase. Without a transaction, they return the
// largest step.
func TestSummary(t *testing.T) {
	t.Parallel()
	p := handPlan(nil)
	p.Phases[0].Steps[1].Rewrites = true
	for _, test := range []struct {
		transaction bool
		lock        time.Duration
		disk        int64
	}{{false, 90 * time.Minute, 134_217_728}, {true, 90*time.Minute + 2300*time.Millisecond, 144_217_727}} {
		p.Phases[0].Transaction = test.transaction
		lock, phase := p.LongestLock()
		if lock != test.lock || phase != sqlmigrate.Widen || p.Disk() != test.disk {
			t.Errorf("in a transaction %t: locked for %v in %s, disk %d, want %v and %d", test.transaction, lock, phase, p.Disk(), test.lock, test.disk)
		}
	}
}

// reviewText is the text of Plan.SQL for phase guard of handPlan, in a transaction.
const reviewText = `-- sqlite: 2 tables, 1 phase, at once

-- Phase guard: 1 step, at once
BEGIN;
-- orders: a CHECK that has a long text: words and words and words and words and words and words and
--   words and words and words and words and words and words and words.
--   changes the catalog only; at once
--   locks: everything
up 4;
COMMIT;
`

// SQL prints the statements of a plan for review. Without a transaction, Apply may skip a
// statement that has been done already, so the text also has the condition for this.
func TestSQL(t *testing.T) {
	t.Parallel()
	p := handPlan(nil)
	p.Phases = p.Phases[1:]
	step := &p.Phases[0].Steps[0]
	step.Text, step.Locks, step.Up[0].Unless = "a CHECK that has a long text: "+strings.Repeat("words and ", 12)+"words.", "everything", "SELECT 1"
	withCondition := strings.NewReplacer("BEGIN;\n", "", "COMMIT;\n", "", "up 4", "--   left out if this is true: SELECT 1\nup 4").Replace(reviewText)
	p.Phases[0].Transaction = false
	if got := p.SQL(); got != withCondition {
		t.Errorf("printed without a transaction:\n%s\nwant:\n%s", got, withCondition)
	}
	p.Phases[0].Transaction = true
	if got := p.SQL(); got != reviewText {
		t.Errorf("printed:\n%s\nwant:\n%s", got, reviewText)
	}
}

// A plan without tables is a single line.
func TestStringOfEmpty(t *testing.T) {
	t.Parallel()
	p := &sqlmigrate.Plan{Dialect: "mysql"}
	if got, want := p.String(), "mysql: 0 tables, nothing to do\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// Plan.Err returns an error with a line for each blocker, which ends with the fix.
func TestErr(t *testing.T) {
	t.Parallel()
	if err := handPlan(nil).Err(); err != nil {
		t.Errorf("Err without blockers: %v", err)
	}
	const want = `sqlmigrate: table orders: blocked by view v_orders: it uses column id: drop it before and create it afterwards
sqlmigrate: table users: blocked by policy p: it uses column id: drop it`
	if err := blockedPlan().Err(); err == nil || err.Error() != want {
		t.Errorf("Err: %v, want %s", err, want)
	}
}
