package doctor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A diagnosis is the JSON that doctor prints.
type diagnosis struct {
	Problems, Warnings int
	Findings           []finding
}

// A finding is one of the findings in the JSON.
type finding struct{ Severity, Check, Subject, Text, Fix string }

// diagnose runs doctor with --json, and checks that the exit code matches the number of
// findings.
func diagnose(t *testing.T, url string, args ...string) diagnosis {
	t.Helper()
	got := clitest.Command(t, append([]string{"doctor", "--dsn", url, "--json"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(got.Out), &d); err != nil {
		t.Fatalf("code %d, standard output is not JSON: %v\n%s%s", got.Code, err, got.Out, got.Err)
	}
	want := clitest.OK
	if d.Problems+d.Warnings > 0 {
		want = clitest.Findings
	}
	if got.Code != want || got.Err != "" {
		t.Errorf("code %d, want %d for %d problems and %d warnings; standard error: %q", got.Code, want, d.Problems, d.Warnings, got.Err)
	}
	return d
}

// wantFinding fails the test unless there is a finding with this severity, check and
// subject, whose text and fix contain the given strings. A subject of "" means the whole
// database. The finding must have a fix unless it is ok, and no line break.
func (d diagnosis) wantFinding(t *testing.T, severity, check, subject, text, fix string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Severity == severity && f.Check == check && f.Subject == subject && strings.Contains(f.Text, text) && strings.Contains(f.Fix, fix) {
			if (f.Fix == "") != (f.Severity == "ok") || strings.Contains(f.Text+f.Fix, "\n") {
				t.Errorf("a finding wants its fix in one line: %+v", f)
			}
			return
		}
	}
	t.Errorf("no finding %s %s %s: %q, fix %q in\n%s", severity, check, subject, text, fix, d)
}

// wantCounts fails the test unless these are the numbers of problems and warnings.
func (d diagnosis) wantCounts(t *testing.T, problems, warnings int) {
	t.Helper()
	if d.Problems != problems || d.Warnings != warnings {
		t.Errorf("%d problems and %d warnings, want %d and %d:\n%s", d.Problems, d.Warnings, problems, warnings, d)
	}
}

func (d diagnosis) String() string {
	var lines []string
	for _, f := range d.Findings {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s (fix: %s)", f.Severity, f.Check, f.Subject, f.Text, f.Fix))
	}
	return strings.Join(lines, "\n")
}

// idAt returns an ID of the default layout with this time.
func idAt(t *testing.T, at time.Time) types.ID {
	t.Helper()
	id, err := snowflake.TwitterLayout().Compose(snowflake.Parts{Time: at, Worker: 3})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// serialNumber returns the serial number of an ID.
func serialNumber(t *testing.T, id types.ID) string {
	t.Helper()
	f, err := serial.New("ORD", snowflake.TwitterLayout())
	if err != nil {
		t.Fatal(err)
	}
	return f.Format(id)
}

// snowflakeKey is the type of a key that the database does not assign, by dialect.
var snowflakeKey = map[string]string{"sqlite": "INTEGER", "mysql": "BIGINT", "postgres": "BIGINT"}

// createMoved creates a table as it is after a move, whose keys are Snowflake IDs, and
// inserts five rows with serial numbers. numberColumn is the type of the column for the serial
// numbers, such as VARCHAR(60) UNIQUE.
func createMoved(t *testing.T, db *gorm.DB, table, numberColumn string) {
	t.Helper()
	clitest.Execute(t, db, fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY CHECK (id > 0), number %s)", table, snowflakeKey[db.Name()], numberColumn))
	for age := range 5 {
		id := idAt(t, time.Now().Add(-time.Duration(age+1)*time.Hour))
		insert(t, db, table, id, serialNumber(t, id))
	}
}

// insert inserts a row into a table that createMoved has created.
func insert(t *testing.T, db *gorm.DB, table string, id types.ID, number any) {
	t.Helper()
	if err := db.Exec("INSERT INTO "+table+" (id, number) VALUES (?, ?)", id, number).Error; err != nil {
		t.Fatal(err)
	}
}

// leaseOnce acquires worker 0 and releases it, so that the store holds a record and the
// layout. It returns the store.
func leaseOnce(t *testing.T, db *gorm.DB, layout snowflake.Layout) lease.Store {
	t.Helper()
	store := sqllease.New(db)
	opts := []lease.Option{lease.WithWorker(0), lease.WithDatacenter(0), lease.WithLogger(slog.New(slog.DiscardHandler))}
	// On TiDB, a lease needs WithSettle, because its settings do not show which writes it forgets.
	if d, ok := db.Dialector.(*mysql.Dialector); ok && strings.Contains(d.ServerVersion, "TiDB") {
		const window = 2 * time.Second
		store, opts = sqllease.New(db, sqllease.AllowVolatile()), append(opts, lease.WithWindow(window), lease.WithSettle(window))
	}
	l, err := lease.Acquire(t.Context(), store, layout, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

// overwriteRecord overwrites the stored record of a worker.
func overwriteRecord(t *testing.T, store lease.Store, key int, next lease.Record) {
	t.Helper()
	records, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := store.CompareAndSwap(t.Context(), key, records[key], next); !ok || err != nil {
		t.Fatalf("CompareAndSwap = %v, %v", ok, err)
	}
}

// On a database without mistakes, doctor reports no problem and no warning, and names what it
// has checked. It leaves the rows as they are.
func TestDoctorHealthy(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		db := clitest.Open(t, url)
		createMoved(t, db, "orders", "VARCHAR(60) UNIQUE")
		leaseOnce(t, db, snowflake.TwitterLayout())
		before := dump(t, url)
		d := diagnose(t, url)
		d.wantCounts(t, 0, 0)
		d.wantFinding(t, "ok", "keys", "", "with Snowflake IDs; none is ahead of the clock", "")
		d.wantFinding(t, "ok", "serials", "orders.number", "a unique index keeps them apart, and the newest 5 values are serial numbers", "")
		d.wantFinding(t, "ok", "layout", "", "expires on 2080-07-10", "")
		d.wantFinding(t, "ok", "workers", "", "of 1024 are free", "")
		clitest.WantOutcome(t, clitest.Command(t, "doctor", "--dsn", url), clitest.OK, "all is well\n", "")
		diagnose(t, url, "--layout", "twitter").wantFinding(t, "ok", "layout", "", "the leased workers have the given one", "")
		if after := dump(t, url); after != before {
			t.Errorf("doctor has changed the database:\n%s\nbefore:\n%s", after, before)
		}
	})
}

// doctor does not change the database, and does not even create the table of workers.
func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Shop(t, url)
		before := clitest.Schema(t, url) + dump(t, url)
		d := diagnose(t, url)
		d.wantFinding(t, "ok", "workers", "", "there is no table snowflake_workers", "")
		if after := clitest.Schema(t, url) + dump(t, url); after != before {
			t.Errorf("doctor has changed the database:\n%s\nbefore:\n%s", after, before)
		}
	})
}

// tablesSQL returns the names of all tables.
var tablesSQL = map[string]string{
	"sqlite":   "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
	"mysql":    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
	"postgres": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1",
}

// dump returns all rows of all tables as text, to compare them.
func dump(t *testing.T, url string) string {
	t.Helper()
	db := clitest.Open(t, url)
	var tables []string
	if err := db.Raw(tablesSQL[db.Name()]).Scan(&tables).Error; err != nil || len(tables) == 0 {
		t.Fatalf("no tables to dump: %v", err)
	}
	var out strings.Builder
	for _, table := range tables {
		var rows []map[string]any
		if err := db.Raw("SELECT * FROM " + table + " ORDER BY 1, 2").Scan(&rows).Error; err != nil { // the table may have one column
			db.Raw("SELECT * FROM " + table).Scan(&rows)
		}
		fmt.Fprintln(&out, table, rows)
	}
	return out.String()
}

// The printed findings have aligned columns, and each fix is below its problem. Under the
// epoch of this test, the ID in the table is of the future.
func TestDoctorPrints(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	db := clitest.Open(t, url)
	clitest.Execute(
		t, db,
		"CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)",
		"INSERT INTO orders VALUES (1795280400000000000)",
	)
	var out, errs bytes.Buffer
	now := func() time.Time { return time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC) }
	code := cli.Main(t.Context(), []string{"doctor", "--dsn", url, "--epoch", "2015-01-01T00:00:00Z"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Now: now})
	clitest.WantOutcome(t, clitest.Outcome{Code: code, Out: out.String(), Err: errs.String()}, clitest.Findings, "2 problems, 0 warnings\n", "")
	if out.String() != goldenDoctor {
		t.Errorf("got\n%swant\n%s", out.String(), goldenDoctor)
	}
}

// goldenDoctor is the output that TestDoctorPrints expects.
const goldenDoctor = `ok       clock     SQLite runs in this process and has this machine's clock
ok       settings  the server keeps what it has acknowledged
ok       workers   there is no table snowflake_workers: no worker is leased from this database
ok       layout    41 bits of 1ms since 2015-01-01T00:00:00Z, 5 datacenter, 5 worker, 12 sequence expires on 2084-09-06
problem  keys      orders: 1 row has a key of the future: the largest id, 1795280400000000000, is of 2028-07-25T00:43:22Z, 1y 246d ahead of the clock: a generator had a wrong clock, another layout or lease.WithMaxAhead
                   fix: correct the clock, and give the rows other keys as docs/runbooks.md shows; or give doctor the layout of these keys; if they are not Snowflake IDs, --skip orders
problem  keys      orders: its keys are Snowflake IDs, and the database still assigns id where a program does not
                   fix: gormflake migrate plan orders, with --park while old programs run or models stay as they are
ok       keys      no key was tried in 1 moved table: --try does that, in copies without rows
ok       columns   no column that may hold keys of 1 moved table is too narrow for a Snowflake ID
2 problems, 0 warnings
`
