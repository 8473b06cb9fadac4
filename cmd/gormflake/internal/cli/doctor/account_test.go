package doctor_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
)

// doctor needs only the right SELECT, and names the tables that the account cannot read.
func TestDoctorAccount(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			dsn := testdb.URL(t, target)
			db := clitest.Open(t, dsn)
			createMoved(t, db, "orders", "VARCHAR(60) UNIQUE")
			createMoved(t, db, "payments", "VARCHAR(60) UNIQUE")
			leaseOnce(t, db, snowflake.TwitterLayout())
			if target == testdb.Postgres { // a sequence that is used up, which the account may not read
				clitest.Execute(t, db, "CREATE SEQUENCE secret", "SELECT setval('secret', 9223372036854775807)")
			}
			accountURL, grantee := clitest.Account(t, db, dsn)

			clitest.Execute(t, db, "GRANT SELECT ON orders TO "+grantee, "GRANT INSERT ON payments TO "+grantee)
			d := diagnose(t, accountURL)
			d.wantFinding(t, "warning", "workers", "snowflake_workers", "could not be checked: ", "grant the account SELECT on it")
			d.wantFinding(t, "warning", "keys", "payments", "could not be checked: ", "grant the account SELECT on it")
			d.wantFinding(t, "ok", "serials", "orders.number", "the newest 5 values", "")
			warnings := 2
			if target == testdb.MySQL { // doctor reads values of text columns, which may hold IDs
				d.wantFinding(t, "warning", "columns", "payments.number", "could not be checked: ", "grant the account SELECT on it")
				warnings++
			}
			d.wantCounts(t, 0, warnings)

			clitest.Execute(t, db, "GRANT SELECT ON payments TO "+grantee, "GRANT SELECT ON snowflake_workers TO "+grantee)
			diagnose(t, accountURL).wantCounts(t, 0, 0)
			text := clitest.Command(t, "doctor", "--dsn", accountURL)
			if strings.Contains(text.Out+text.Err, clitest.Password) {
				t.Errorf("the password is shown:\n%s%s", text.Out, text.Err)
			}
			wrong := clitest.Command(t, "doctor", "--dsn", strings.Replace(accountURL, clitest.Password, "wrong-"+clitest.Password, 1))
			if target != testdb.Postgres {
				clitest.WantOneLine(t, wrong, "Access denied")
			}
			if strings.Contains(wrong.Out+wrong.Err, clitest.Password) {
				t.Errorf("the password is shown:\n%s%s", wrong.Out, wrong.Err)
			}
		})
	}
}

// doctor reads large tables only through an index, because a scan would take too long.
func TestDoctorScansNoTable(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.Postgres)
	db := clitest.Open(t, dsn)
	createMoved(t, db, "orders", "VARCHAR(60) UNIQUE")
	fillOrders(t, db, 20000)
	clitest.Execute(t, db, "VACUUM ANALYZE orders")
	before := readScans(t, db)
	diagnose(t, dsn).wantFinding(t, "ok", "serials", "orders.number", "the newest 1000 values", "")
	// PostgreSQL updates these statistics only when the session of doctor ends, so wait
	// until they show that an index was read.
	after := readScans(t, db)
	for deadline := time.Now().Add(time.Minute); after.Indexes == before.Indexes; after = readScans(t, db) {
		if time.Now().After(deadline) {
			t.Fatal("doctor has not looked into the index")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after.Tables != before.Tables {
		t.Errorf("%d rows were read by scans of the table, want none", after.Tables-before.Tables)
	}
}

// readCounts are how many rows PostgreSQL has read by scans of a table, and by its indexes.
type readCounts struct{ Tables, Indexes int64 }

// readScans returns how many rows of table orders PostgreSQL has read so far.
func readScans(t *testing.T, db *gorm.DB) (s readCounts) {
	t.Helper()
	err := db.Raw("SELECT coalesce(seq_tup_read, 0) AS tables, coalesce(idx_tup_fetch, 0) AS indexes FROM pg_stat_user_tables WHERE relid = 'orders'::regclass").Scan(&s).Error
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A mistake in the command line or in the URL ends doctor with an error of a single line,
// which does not contain the password. doctor must not report it as a finding, and must not
// create a missing file.
func TestDoctorMistakes(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.SQLite)
	clitest.Shop(t, dsn)
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no database", nil, clitest.Usage, "no database: give --dsn"},
		{"no URL", []string{"--dsn", "app:" + clitest.Password + "@tcp(db)/shop"}, clitest.Usage, "dsn: not a database URL"},
		{"no such file", []string{"--dsn", dsn + ".missing"}, clitest.Failed, "database: there is no file"},
		{"nobody listens", []string{"--dsn", "postgres://app:" + clitest.Password + "@127.0.0.1:1/shop"}, clitest.Failed, "connection refused"},
		{"argument", []string{"--dsn", dsn, "orders"}, clitest.Usage, `"gormflake doctor" takes no arguments, got "orders"`},
		{"unknown layout", []string{"--dsn", dsn, "--layout", "odd"}, clitest.Usage, `--layout "odd"`},
		{"table of workers", []string{"--dsn", dsn, "--table", "a b"}, clitest.Usage, "WithTable"},
		{"unknown flag", []string{"--dsn", dsn, "--odd"}, clitest.Usage, "unknown flag: --odd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := clitest.Command(t, append([]string{"doctor"}, test.args...)...)
			clitest.WantOutcome(t, got, test.code, "", test.want)
			if strings.Count(got.Err, "\n") != 1 || !strings.HasPrefix(got.Err, "gormflake: ") {
				t.Errorf("standard error is not one line of gormflake:\n%s", got.Err)
			}
			if strings.Contains(got.Err, clitest.Password) {
				t.Errorf("the password is shown: %s", got.Err)
			}
		})
	}
	if _, err := os.Stat(strings.TrimPrefix(dsn, "sqlite://") + ".missing"); err == nil {
		t.Error("a file has been created")
	}
}

// The examples of the help work as printed.
func TestDoctorExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	createMoved(t, clitest.Open(t, "sqlite://shop.db"), "orders", "VARCHAR(60) UNIQUE")
	for _, args := range clitest.Examples(t, []string{"doctor"}) {
		if got := clitest.Command(t, args...); got.Code != clitest.OK {
			t.Errorf("%q ends with code %d:\n%s%s", args, got.Code, got.Out, got.Err)
		}
	}
}

// If doctor is interrupted, it does not report the unfinished checks as findings.
func TestDoctorInterrupted(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.Postgres)
	db := clitest.Open(t, dsn)
	// A function in place of clock_timestamp lets doctor wait while it reads the clock.
	slow := shadowFunction(t, dsn, `clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now() FROM pg_sleep(600)'`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan clitest.Outcome, 1)
	go func() { done <- clitest.CommandWith(ctx, nil, "doctor", "--dsn", slow+"&application_name="+t.Name()) }()
	// Interrupt doctor once the server runs this query.
	for running := 0; running == 0; time.Sleep(5 * time.Millisecond) {
		db.Raw("SELECT count(*) FROM pg_stat_activity WHERE application_name = ? AND state = 'active' AND query LIKE '%clock_timestamp%'", t.Name()).Scan(&running)
		select {
		case got := <-done:
			t.Fatalf("doctor has ended: %+v", got)
		default:
		}
	}
	cancel()
	got := <-done
	clitest.WantInterrupted(t, got, "nothing was changed")
	if got.Out != "" {
		t.Errorf("an interrupted doctor reports:\n%s", got.Out)
	}
}
