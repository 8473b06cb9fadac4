package doctor_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// withParameters sets parameters of a URL, which are given as pairs of name and value.
func withParameters(t *testing.T, dsn string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// doctor reports whether this machine's clock is ahead of the server's clock or behind it. The
// session variable timestamp sets the clock that NOW returns.
func TestDoctorClockOfMySQL(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, dsn string) {
		for _, test := range []struct {
			ahead          time.Duration // of the server's clock
			severity, text string
		}{
			{0, "ok", "measured within"},
			{-time.Hour, "problem", " ahead of the database's"},
			{3 * time.Hour, "problem", " behind the database's"},
		} {
			at := dsn
			if test.ahead != 0 {
				at = withParameters(t, dsn, "timestamp", fmt.Sprint(time.Now().Add(test.ahead).Unix()))
			}
			diagnose(t, at).wantFinding(t, test.severity, "clock", "", test.text, "")
		}
	})
}

// eachMySQL runs fn on MariaDB and on MySQL, each with a new database.
func eachMySQL(t *testing.T, fn func(t *testing.T, dsn string)) {
	t.Helper()
	for _, target := range testdb.Alike(testdb.MySQL) {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			fn(t, testdb.URL(t, target))
		})
	}
}

// shadowFunction creates a function, and returns a URL whose search_path makes it hide
// the built-in function of the same name.
func shadowFunction(t *testing.T, dsn, function string) string {
	t.Helper()
	db := clitest.Open(t, dsn)
	var schema string
	db.Raw("SELECT current_schema()").Scan(&schema)
	clitest.Execute(t, db, "CREATE FUNCTION "+function)
	return withParameters(t, dsn, "search_path", schema+",pg_catalog")
}

// doctor warns of a difference of 30 seconds between the clocks. Only a difference of a
// minute would be a problem. A function in place of clock_timestamp returns a time that is 30
// seconds ahead.
func TestDoctorClockOfPostgres(t *testing.T) {
	t.Parallel()
	dsn := shadowFunction(t, testdb.URL(t, testdb.Postgres), `clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.clock_timestamp() + interval ''30 s'''`)
	d := diagnose(t, dsn)
	d.wantFinding(t, "warning", "clock", "", "behind the database's", "synchronise both clocks")
	d.wantCounts(t, 0, 1)
}

// doctor reads in read-only transactions, so that the database rejects any write. A
// function in place of clock_timestamp tries to write when doctor reads the clock.
func TestDoctorReadsOnly(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.Postgres)
	db := clitest.Open(t, dsn)
	clitest.Execute(t, db, "CREATE TABLE touched (n int)")
	d := diagnose(t, shadowFunction(t, dsn, `clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN INSERT INTO touched VALUES (1); RETURN now(); END'`))
	d.wantFinding(t, "warning", "clock", "", "cannot execute INSERT in a read-only transaction", "")
	d.wantCounts(t, 0, 1)
}

// doctor reports settings of the session, and an unlogged table of workers.
func TestDoctorSettingsOfPostgres(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.Postgres)
	db := clitest.Open(t, dsn)
	leaseOnce(t, db, snowflake.TwitterLayout())
	clitest.Execute(t, db, "ALTER TABLE snowflake_workers SET UNLOGGED")
	d := diagnose(t, withParameters(t, dsn, "synchronous_commit", "off"))
	d.wantFinding(t, "warning", "settings", "synchronous_commit", "it is off", "set it to on")
	d.wantFinding(t, "problem", "settings", `"snowflake_workers"`, "it is unlogged or temporary", `ALTER TABLE "snowflake_workers" SET LOGGED`)
	d.wantCounts(t, 1, 1)
}

// doctor warns that the server is a standby, whose rows may be old. A function in place of
// pg_is_in_recovery returns true.
func TestDoctorStandby(t *testing.T) {
	t.Parallel()
	dsn := shadowFunction(t, testdb.URL(t, testdb.Postgres), `pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT true'`)
	diagnose(t, dsn).wantFinding(t, "warning", "settings", "", "the server is a standby", "give the DSN of the primary")
}

// doctor reports settings of the server. The test starts a server of its own, because these
// settings cannot be set for a session.
func TestDoctorSettingsOfPostgresServer(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t, "fsync=off", "full_page_writes=off")
	d := diagnose(t, server.URL())
	d.wantFinding(t, "warning", "settings", "fsync", "it is off", "set it to on")
	d.wantFinding(t, "warning", "settings", "full_page_writes", "it is off", "set it to on")
	d.wantCounts(t, 0, 2)
}

// doctor reports a table of workers in an engine without transactions, and a session in
// which no worker can be leased.
func TestDoctorSettingsOfMySQL(t *testing.T) {
	t.Parallel()
	eachMySQL(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		leaseOnce(t, db, snowflake.TwitterLayout())
		clitest.Execute(t, db, "ALTER TABLE snowflake_workers ENGINE=MyISAM")
		d := diagnose(t, withParameters(t, dsn, "autocommit", "0"))
		d.wantFinding(t, "problem", "settings", "`snowflake_workers`", "it has the engine MyISAM", "ALTER TABLE `snowflake_workers` ENGINE=InnoDB")
		d.wantFinding(t, "problem", "settings", "autocommit", "it is 0", "remove it from the DSN")
	})
}

// doctor reports innodb_flush_log_at_trx_commit. The value 0 is a problem, because it loses
// writes if the server dies, and 2 is a warning, because it loses them only if the machine
// does.
func TestDoctorSettingsOfMySQLServer(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{
		"mariadb": testserver.MariaDB, "mysql": testserver.MySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, "innodb_flush_log_at_trx_commit=0")
			d := diagnose(t, server.URL())
			d.wantFinding(t, "problem", "settings", "innodb_flush_log_at_trx_commit", "it is 0", "set it to 1")
			d.wantCounts(t, 1, 0)
			clitest.Execute(t, clitest.Open(t, server.URL()), "SET GLOBAL innodb_flush_log_at_trx_commit = 2")
			d = diagnose(t, server.URL())
			d.wantFinding(t, "warning", "settings", "innodb_flush_log_at_trx_commit", "it is 2", "set it to 1")
			d.wantCounts(t, 0, 1)
		})
	}
}

// doctor warns of sync_binlog = 0 only if the server writes a binary log.
func TestDoctorBinaryLog(t *testing.T) {
	t.Parallel()
	d := diagnose(t, testserver.MariaDB(t, "log-bin=binlog").URL())
	d.wantFinding(t, "warning", "settings", "sync_binlog", "it is 0", "SET GLOBAL sync_binlog = 1")
	d.wantCounts(t, 0, 1)
	diagnose(t, testserver.MariaDB(t, "log-bin=binlog", "sync-binlog=1").URL()).wantCounts(t, 0, 0)
	diagnose(t, testserver.MariaDB(t).URL()).wantCounts(t, 0, 0)
}

// doctor reports a DSN under which SQLite does not wait for the disk.
func TestDoctorSettingsOfSQLite(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.SQLite)
	clitest.Shop(t, dsn)
	d := diagnose(t, dsn+"?_pragma=synchronous(0)")
	d.wantFinding(t, "problem", "settings", "synchronous", "OFF", "set it to FULL")
	d.wantCounts(t, 1, 0)
}

// Without --layout, doctor adopts the layout of the leased workers. Another layout in a
// flag is a problem.
func TestDoctorLayout(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		leaseOnce(t, clitest.Open(t, dsn), snowflake.JSSafeLayout())
		diagnose(t, dsn).wantFinding(t, "ok", "layout", "", "39 bits of 10ms", "")
		d := diagnose(t, dsn, "--layout", "twitter")
		d.wantFinding(t, "problem", "layout", "", "the leased workers belong to 39 bits of 10ms", "use the stored layout everywhere")
		d.wantCounts(t, 1, 0)
	})
}

// The end of the layout is a warning in its last 5 years, and a problem in its last year.
func TestDoctorExpiry(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.SQLite)
	clitest.Shop(t, dsn)
	const year = 365 * 24 * time.Hour
	for _, test := range []struct {
		remaining      time.Duration // until the layout expires
		code           int
		severity, text string
	}{
		{6 * year, clitest.OK, "ok       layout", "expires on 2080-07-10"},
		{4 * year, clitest.Findings, "warning  layout", "expires on 2080-07-10"},
		{year / 2, clitest.Findings, "problem  layout", "expires on 2080-07-10"},
		{-time.Hour, clitest.Findings, "problem  layout", "has expired on 2080-07-10: no ID can be issued\n                   fix: move to a layout"},
	} {
		t.Run(test.remaining.String(), func(t *testing.T) {
			var out, errs strings.Builder
			now := func() time.Time { return snowflake.TwitterLayout().Expires().Add(-test.remaining) }
			code := cli.Main(t.Context(), []string{"doctor", "--dsn", dsn}, cli.Streams{Out: &out, Err: &errs, Now: now})
			got := clitest.Outcome{Code: code, Out: out.String(), Err: errs.String()}
			clitest.WantOutcome(t, got, test.code, test.severity, "")
			clitest.WantOutcome(t, got, test.code, test.text, "")
		})
	}
}

// smallLayout returns a layout of two datacenters with sixteen workers each.
func smallLayout(t *testing.T) snowflake.Layout {
	t.Helper()
	layout := snowflake.TwitterLayout()
	layout.DatacenterBits, layout.WorkerBits = 1, 4
	if err := layout.Validate(); err != nil {
		t.Fatal(err)
	}
	return layout
}

// doctor counts the free workers, and reports bounds that are too far ahead. Each case
// writes records of the 32 workers of smallLayout. Keys below 16 are of datacenter 0,
// the others of datacenter 1.
func TestDoctorWorkers(t *testing.T) {
	t.Parallel()
	const long, longer, longest = 30 * time.Minute, 4 * time.Hour, 5*time.Hour + 30*time.Minute // time until the worker is free
	for _, test := range []struct {
		name               string
		holders            []heldRange
		problems, warnings int
		want               []finding
	}{
		{
			name:    "one holder died",
			holders: []heldRange{{0, 1, -time.Hour, deadOwner}},
			want: []finding{
				{Severity: "ok", Text: "1 worker was not released when the holder died"},
				{Severity: "ok", Text: "32 of 32 are free"},
			},
		}, {
			name:     "one datacenter is full",
			holders:  []heldRange{{0, 16, long, deadOwner}},
			warnings: 1,
			want: []finding{
				{Severity: "ok", Text: "16 of 32 are free"},
				{Severity: "warning", Subject: "datacenter 0", Text: "all of its 16 workers are held", Fix: "give some of them another datacenter"},
			},
		}, {
			name:     "two are left",
			holders:  []heldRange{{0, 30, long, deadOwner}},
			warnings: 2, // few are free, and datacenter 0 is full
			want:     []finding{{Severity: "warning", Text: "2 of 32 are free", Fix: "stop processes"}},
		}, {
			name:     "none is left, and one is held by a clock that is ahead",
			holders:  []heldRange{{0, 31, long, deadOwner}, {31, 32, longest, deadOwner}},
			problems: 2,
			want: []finding{
				{Severity: "problem", Text: "0 of 32 are free: no other process can start before 20", Fix: "stop processes"},
				{Severity: "problem", Subject: "datacenter 1 worker 15", Text: "ahead of the clock", Fix: "never lower a bound by hand"},
			},
		}, {
			name:     "several are held by clocks that are ahead",
			holders:  []heldRange{{0, 6, longer, deadOwner}, {6, 31, long, deadOwner}, {31, 32, longest, deadOwner}},
			problems: 2,
			want:     []finding{{Severity: "problem", Subject: "datacenter 1 worker 15 and 6 others", Text: "5h 2", Fix: "never lower a bound by hand"}},
		}, {
			name:     "all have a window of a day",
			holders:  []heldRange{{0, 32, 23 * time.Hour, "host/1/x/1/0/86400000"}}, // the last number is the window in milliseconds, so the bounds are not too far ahead
			problems: 1,
			want:     []finding{{Severity: "problem", Text: "0 of 32 are free", Fix: "WithMaxAhead"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.Servers(t, func(t *testing.T, dsn string) {
				db := clitest.Open(t, dsn)
				leaseOnce(t, db, smallLayout(t))
				for _, h := range test.holders {
					h.write(t, db)
				}
				d := diagnose(t, dsn)
				for _, f := range test.want {
					d.wantFinding(t, f.Severity, "workers", f.Subject, f.Text, f.Fix)
				}
				d.wantCounts(t, test.problems, test.warnings)
			})
		})
	}
}

// deadOwner is the owner in the record of a process that ended without releasing its
// worker.
const deadOwner = "host/1/x"

// A heldRange describes the records of the workers whose keys are at least the field from and
// less than the field to. These records have the same owner, and bounds that are ahead of the
// clock by the field ahead.
type heldRange struct {
	from, to int
	ahead    time.Duration
	owner    string
}

// write replaces the records of the workers.
func (h heldRange) write(t *testing.T, db *gorm.DB) {
	t.Helper()
	bound := time.Now().Add(h.ahead).UnixMilli()
	for key := h.from; key < h.to; key++ {
		clitest.Execute(t, db, fmt.Sprintf("DELETE FROM snowflake_workers WHERE worker_id = %d", key),
			fmt.Sprintf("INSERT INTO snowflake_workers VALUES ('default', %d, %d, '%s')", key, bound, h.owner))
	}
}

// The record with key -1 holds the layout, and another program has overwritten it. doctor
// warns that it cannot check the workers. Another namespace is unaffected.
func TestDoctorStrangeRecords(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		store := leaseOnce(t, clitest.Open(t, dsn), smallLayout(t))
		overwriteRecord(t, store, -1, lease.Record{Owner: "another program"})
		d := diagnose(t, dsn)
		d.wantFinding(t, "warning", "workers", "snowflake_workers", "could not be checked: ", "fix the error")
		d.wantCounts(t, 0, 1)
		empty := diagnose(t, dsn, "--namespace", "other")
		empty.wantFinding(t, "ok", "workers", "", "no worker of namespace other was ever leased", "")
	})
}

// A key that is more than a minute ahead of the clock is a problem. Keys that are less far
// ahead come from small differences of clocks.
func TestDoctorFutureKeys(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		createMoved(t, db, "orders", "VARCHAR(60) UNIQUE")
		insert(t, db, "orders", idAt(t, time.Now().Add(20*time.Second)), nil)
		diagnose(t, dsn).wantCounts(t, 0, 0)
		insert(t, db, "orders", idAt(t, time.Now().Add(time.Hour)), nil)
		insert(t, db, "orders", idAt(t, time.Now().Add(2*time.Hour)), nil)
		d := diagnose(t, dsn)
		d.wantFinding(t, "problem", "keys", "orders", "2 rows have keys of the future: the largest id, ", "docs/runbooks.md")
		d.wantFinding(t, "problem", "keys", "orders", "ahead of the clock: a generator had a wrong clock, another layout or lease.WithMaxAhead", "--skip orders")
		d.wantCounts(t, 1, 0)
		diagnose(t, dsn, "--skip", "orders").wantCounts(t, 0, 0)
	})
}

// A key that is not a 64-bit number is a problem of its table.
func TestDoctorStrangeKeys(t *testing.T) {
	t.Parallel()
	for target, statements := range map[testdb.Target][]string{
		testdb.MySQL:  {"CREATE TABLE odd (id BIGINT UNSIGNED PRIMARY KEY)", "INSERT INTO odd VALUES (18000000000000000000)"},
		testdb.SQLite: {"CREATE TABLE odd (id BIGINT PRIMARY KEY)", "INSERT INTO odd VALUES ('x')"},
	} {
		for _, target := range testdb.Alike(target) {
			t.Run(string(target), func(t *testing.T) {
				t.Parallel()
				dsn := testdb.URL(t, target)
				clitest.Execute(t, clitest.Open(t, dsn), statements...)
				d := diagnose(t, dsn)
				d.wantFinding(t, "problem", "keys", "odd", "is not an ID", "--skip odd")
				d.wantCounts(t, 1, 0)
			})
		}
	}
}

// A table holds Snowflake IDs, and its database still assigns a key to a row without one.
// doctor reports such a table. It does not report a table without Snowflake IDs, which has
// not been moved.
func TestDoctorAutoIncrementLeft(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		columns := map[string][]string{
			"sqlite":   {"INTEGER PRIMARY KEY AUTOINCREMENT"},
			"mysql":    {"BIGINT AUTO_INCREMENT PRIMARY KEY"},
			"postgres": {"BIGSERIAL PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
		}[db.Name()]
		// The problems of earlier tables remain, so table i makes i+1 problems.
		for i, column := range columns {
			table := fmt.Sprintf("orders%d", i)
			clitest.Execute(t, db, fmt.Sprintf("CREATE TABLE %s (id %s, number VARCHAR(10))", table, column))
			insert(t, db, table, 7, nil)
			diagnose(t, dsn).wantCounts(t, i, 0)
			insert(t, db, table, idAt(t, time.Now().Add(-time.Hour)), nil)
			d := diagnose(t, dsn)
			d.wantFinding(t, "problem", "keys", table, "its keys are Snowflake IDs, and the database still assigns id", "gormflake migrate plan "+table)
			d.wantCounts(t, i+1, 0)
		}
	})
}

// "migrate apply --park" has parked the counter of a table, so doctor accepts the table.
// doctor also accepts the key that the parked counter assigns to a row of an old program. It
// still reports another problem of the table, here a key that is ahead of the clock. On
// PostgreSQL, "migrate apply --park" does nothing, because a sequence does not continue from
// the largest key. There doctor accepts the sequence with --park, and reports it as a problem
// otherwise.
func TestDoctorParked(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		column := map[string]string{
			"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mysql": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "BIGSERIAL PRIMARY KEY",
		}[db.Name()]
		clitest.Execute(t, db, "CREATE TABLE orders (id "+column+", number VARCHAR(10))")
		got := clitest.Command(t, "migrate", "apply", "--dsn", dsn, "--park", "--yes", "--save", "", "orders")
		applied, progress, problems := "applied: park\nnext: gormflake doctor --dsn … --park\n", "park 1/", 0
		if db.Name() == "postgres" {
			applied, progress, problems = "nothing to do", "", 1
		}
		clitest.WantOutcome(t, got, clitest.OK, applied, progress)
		if strings.Contains(got.Out, "types.ID") {
			t.Errorf("models do not change:\n%s", got.Out)
		}
		insert(t, db, "orders", idAt(t, time.Now().Add(-time.Hour)), nil)
		for range 2 {
			diagnose(t, dsn).wantCounts(t, problems, 0)
			diagnose(t, dsn, "--park").wantCounts(t, 0, 0)
			clitest.Execute(t, db, "INSERT INTO orders (number) VALUES ('parked')")
		}
		clitest.WantOutcome(t, clitest.Command(t, "migrate", "plan", "--dsn", dsn, "--park", "orders"), clitest.OK, "nothing to do", "")
		insert(t, db, "orders", idAt(t, time.Now().Add(time.Hour)), nil)
		diagnose(t, dsn, "--park").wantFinding(t, "problem", "keys", "orders", "ahead of the clock", "--skip orders")
	})
}

// doctor reports serial numbers without a unique index, duplicates, and values that are not
// serial numbers.
func TestDoctorSerials(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		createMoved(t, db, "orders", "VARCHAR(60)")
		const none = "no index keeps them unique; there is no duplicate among the newest 5 values"
		d := diagnose(t, dsn)
		d.wantFinding(t, "warning", "serials", "orders.number", none, "CREATE UNIQUE INDEX")
		d.wantCounts(t, 0, 1)

		twice := serialNumber(t, idAt(t, time.Now().Add(-time.Hour)))
		for i := range 2 {
			insert(t, db, "orders", idAt(t, time.Now().Add(-time.Minute*time.Duration(i+1))), twice)
		}
		d = diagnose(t, dsn)
		d.wantFinding(t, "problem", "serials", "orders.number", "there are duplicates among the newest 7 values", "correct the rows, then CREATE UNIQUE INDEX")
		d.wantFinding(t, "problem", "serials", "orders.number", twice, "")
		d.wantCounts(t, 1, 0)

		insert(t, db, "orders", idAt(t, time.Now().Add(-time.Second)), "ORD-odd")
		d = diagnose(t, dsn)
		d.wantFinding(t, "problem", "serials", "orders.number", "1 of the newest 8 values are not serial numbers: ", "correct them")
		d.wantFinding(t, "problem", "serials", "orders.number", "ORD-odd", "")
		d.wantCounts(t, 2, 0)
	})
}

// fillOrders inserts rows with IDs of the last half hour.
func fillOrders(t *testing.T, db *gorm.DB, rows int) {
	t.Helper()
	type order struct {
		ID     int64
		Number string
	}
	orders := make([]order, rows)
	begin := time.Now().Add(-30 * time.Minute)
	for i := range orders {
		id := idAt(t, begin.Add(time.Duration(i)*time.Millisecond))
		orders[i] = order{id.Int64(), serialNumber(t, id)}
	}
	if err := db.Table("orders").CreateInBatches(orders, 400).Error; err != nil {
		t.Fatal(err)
	}
}

// A unique index over further columns, over some rows or over a prefix does not keep serial
// numbers unique.
func TestDoctorSerialIndexes(t *testing.T) {
	t.Parallel()
	clitest.Servers(t, func(t *testing.T, dsn string) {
		db := clitest.Open(t, dsn)
		createMoved(t, db, "orders", "VARCHAR(60)")
		insufficient := map[string][]string{
			"sqlite":   {"CREATE UNIQUE INDEX i ON orders (number, id)", "CREATE UNIQUE INDEX i ON orders (number) WHERE id > 5"},
			"mysql":    {"CREATE UNIQUE INDEX i ON orders (number, id)", "CREATE UNIQUE INDEX i ON orders (number(40))"},
			"postgres": {"CREATE UNIQUE INDEX i ON orders (number, id)", "CREATE UNIQUE INDEX i ON orders (number) WHERE id > 5"},
		}[db.Name()]
		drop := "DROP INDEX i"
		if db.Name() == "mysql" {
			drop += " ON orders"
		}
		for _, statement := range insufficient {
			clitest.Execute(t, db, statement)
			diagnose(t, dsn).wantFinding(t, "warning", "serials", "orders.number", "no index keeps them unique", "")
			clitest.Execute(t, db, drop)
		}
		clitest.Execute(t, db, "CREATE UNIQUE INDEX i ON orders (number)")
		diagnose(t, dsn).wantCounts(t, 0, 0)
	})
}
