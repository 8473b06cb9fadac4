package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease"
)

// What the program finds at its end is an error, not only a number.
func TestJudge(t *testing.T) {
	t.Parallel()
	order := "INSERT INTO " + orderTable + " (id, process) VALUES (%d, 'A')"
	line := "INSERT INTO " + lineTable + " (id, order_id, product) VALUES (%d, %d, 'tea')"
	good := []string{fmt.Sprintf(order, 1), fmt.Sprintf(line, 2, 1)}
	for _, test := range []struct {
		name, want string
		told, seen int
		rows       []string
	}{
		{"all well", "", 1, 0, good},
		{"more than told", "", 1, 0, append([]string{fmt.Sprintf(order, 5), fmt.Sprintf(line, 6, 5)}, good...)},
		{"twice", "1 keys exist twice", 1, 0, append([]string{fmt.Sprintf(line, 1, 1)}, good...)},
		{"orphan", "1 lines have no order", 1, 0, append([]string{fmt.Sprintf(line, 9, 8)}, good...)},
		{"bare", "1 orders have no lines", 1, 0, append([]string{fmt.Sprintf(order, 7)}, good...)},
		{"missing", "2 orders were acknowledged, 1 are there", 2, 0, good},
		{"idle", "process A has written nothing", 1, 1, good},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := emptyShow(t)
			s.crew = []*process{{name: "A", orders: test.told, seen: test.seen}, {name: "B", state: killed}}
			for _, row := range test.rows {
				if err := s.db.Exec(row).Error; err != nil {
					t.Fatal(err)
				}
			}
			err := s.judge(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// emptyShow is in a database that checks no foreign keys.
func emptyShow(t *testing.T) *show {
	t.Helper()
	cfg := config{dsn: fileIn(t.TempDir()) + "?_pragma=foreign_keys(0)", processes: 3, window: time.Second}
	s, err := openShow(t.Context(), cfg, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A key that is there already is an error, of a line too: otherwise the program
// would not see what it is to show.
func TestInsertRefusesKeysThatExist(t *testing.T) {
	t.Parallel()
	s := emptyShow(t)
	first := Order{ID: 1, Lines: []Line{{ID: 2}}}
	if err := insert(s.db, []Order{first}); err == nil {
		t.Fatal("wrote without the plugin, want an error")
	}
	gen, err := (&writer{db: s.db, work: work{Window: time.Second, Workers: 1}}).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Close(t.Context())
	for _, test := range []struct {
		name  string
		order Order
		fails bool
	}{
		{"first", first, false},
		{"order again", Order{ID: 1, Lines: []Line{{ID: 3}}}, true},
		{"line again", Order{ID: 4, Lines: []Line{{ID: 2}}}, true},
		{"without keys", Order{Lines: []Line{{}}}, false},
	} {
		if err := insert(s.db, []Order{test.order}); (err != nil) != test.fails {
			t.Errorf("%s: %v, want an error: %v", test.name, err, test.fails)
		}
	}
	wantOrders(t, s.db, 2)
}

func wantOrders(t *testing.T, db *gorm.DB, want int) {
	t.Helper()
	c, err := countRows(db)
	if err != nil || c.Orders != want {
		t.Errorf("%d orders, %v, want %d", c.Orders, err, want)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(100_000)
	crew := func(name string, s state, pid int) *process {
		return &process{name: name, state: s, orders: 10, command: &exec.Cmd{Process: &os.Process{Pid: pid}}}
	}
	s := &show{config: config{processes: 6}, began: now.Add(-12 * time.Second), crew: []*process{
		crew("A", writing, 11), crew("B", killed, 12), crew("C", paused, 13),
	}}
	holder := func(worker, until int64, owner string) lease.Holder {
		return lease.Holder{Worker: worker, Until: time.UnixMilli(until), Owner: owner}
	}
	got := s.line([]lease.Holder{
		holder(0, 101_600, "host/13/x"), holder(1, 99_000, "host/12/x"), holder(2, 99_000, ""),
		holder(3, 100_300, "host/11/x"), holder(4, 110_500, "host/99/x"),
	}, now)
	want := "  12.0  C* +1.6s  Bx -1.0s  -         A  +0.3s  ?  +10.5s -             30"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
