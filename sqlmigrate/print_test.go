package sqlmigrate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gormflake/gormflake/sqlmigrate"
)

const printed = `sqlite: 2 tables, 2 phases, about 1.5 h

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

Notes
  - Restart programs that have prepared statements: words and words and words and words and words
    and words and words and words and words and words and words and words and words.
`

func TestString(t *testing.T) {
	t.Parallel()
	if got := handPlan(nil).String(); got != printed {
		t.Errorf("printed:\n%s\nwant:\n%s", got, printed)
	}
	for line := range strings.SplitSeq(printed, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d characters in %q, want at most 100", n, line)
		}
	}
}

func TestStringOfBlocked(t *testing.T) {
	t.Parallel()
	const want = `sqlite: 2 tables, 2 blockers: nothing will be changed

Blocked by
  orders: view v_orders
    it uses column id
    fix: drop it before and create it afterwards
  users: policy p
    it uses column id
    fix: drop it

Tables
`
	if got := blocked().String(); !strings.HasPrefix(got, want) {
		t.Errorf("printed:\n%s\nwant it to begin with:\n%s", got, want)
	}
}

func TestStringOfEmpty(t *testing.T) {
	t.Parallel()
	p := &sqlmigrate.Plan{Dialect: "mysql"}
	if got, want := p.String(), "mysql: 0 tables, nothing to do\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestErr(t *testing.T) {
	t.Parallel()
	if err := handPlan(nil).Err(); err != nil {
		t.Errorf("Err without blockers: %v", err)
	}
	const want = `sqlmigrate: table orders: blocked by view v_orders: it uses column id: drop it before and create it afterwards
sqlmigrate: table users: blocked by policy p: it uses column id: drop it`
	if err := blocked().Err(); err == nil || err.Error() != want {
		t.Errorf("Err: %v, want %s", err, want)
	}
}
