package cli_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/testdb"
	"github.com/gormflake/gormflake/snowflake"
)

const password = "hunter2"

// account makes one that may connect and nothing else, and returns the URL of
// the database for it and its name in GRANT.
func account(t *testing.T, db *gorm.DB, dsn string) (as, grantee string) {
	t.Helper()
	name := "gf_" + strings.ToLower(rand.Text()[:12])
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	if db.Name() == "mysql" {
		grantee = name + "@'%'"
		execute(t, db, "CREATE USER "+grantee+" IDENTIFIED BY '"+password+"'")
		t.Cleanup(func() { execute(t, db, "DROP USER "+grantee) })
		return u.String(), grantee
	}
	var schema string
	db.Raw("SELECT current_schema()").Scan(&schema)
	execute(t, db, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'", "GRANT USAGE ON SCHEMA "+schema+" TO "+name)
	t.Cleanup(func() { // who has made a role may not drop what it owns unless a member of it
		execute(t, db, "GRANT "+name+" TO CURRENT_USER", "DROP OWNED BY "+name, "DROP ROLE "+name)
	})
	return u.String(), name
}

// SELECT is enough, and what an account may not see is named.
func TestDoctorAccount(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			dsn := testdb.URL(t, target)
			db := open(t, dsn)
			moved(t, db, "orders", "VARCHAR(60) UNIQUE")
			moved(t, db, "payments", "VARCHAR(60) UNIQUE")
			leased(t, db, snowflake.TwitterLayout())
			as, grantee := account(t, db, dsn)

			execute(t, db, "GRANT SELECT ON orders TO "+grantee, "GRANT INSERT ON payments TO "+grantee)
			d := diagnose(t, as)
			d.has(t, "warning", "workers", "snowflake_workers", "could not be looked at: ", "grant the account SELECT on it")
			d.has(t, "warning", "keys", "payments", "could not be looked at: ", "grant the account SELECT on it")
			d.has(t, "ok", "serials", "orders.number", "the newest 5 values", "")
			d.only(t, 0, 2)

			execute(t, db, "GRANT SELECT ON payments TO "+grantee, "GRANT SELECT ON snowflake_workers TO "+grantee)
			diagnose(t, as).only(t, 0, 0)
			text := command(t, "doctor", "--dsn", as)
			if strings.Contains(text.out+text.err, password) {
				t.Errorf("the password is shown:\n%s%s", text.out, text.err)
			}
			wrong := command(t, "doctor", "--dsn", strings.Replace(as, password, "wrong-"+password, 1))
			if target == testdb.MySQL {
				wantOneLine(t, wrong, "Access denied")
			}
			if strings.Contains(wrong.out+wrong.err, password) {
				t.Errorf("the password is shown:\n%s%s", wrong.out, wrong.err)
			}
		})
	}
}

// What a large table is asked, an index answers.
func TestDoctorScansNoTable(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.Postgres)
	db := open(t, dsn)
	moved(t, db, "orders", "VARCHAR(60) UNIQUE")
	fill(t, db, 20000)
	execute(t, db, "VACUUM ANALYZE orders")
	before := scans(t, db)
	diagnose(t, dsn).has(t, "ok", "serials", "orders.number", "the newest 1000 values", "")
	// A session tells the statistics what it has done when it ends.
	after := scans(t, db)
	for deadline := time.Now().Add(time.Minute); after.Indexes == before.Indexes; after = scans(t, db) {
		if time.Now().After(deadline) {
			t.Fatal("doctor has not looked into the index")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after.Tables != before.Tables {
		t.Errorf("%d rows were read by scans of the table, want none", after.Tables-before.Tables)
	}
}

type scanned struct{ Tables, Indexes int64 }

func scans(t *testing.T, db *gorm.DB) (s scanned) {
	t.Helper()
	err := db.Raw("SELECT coalesce(seq_tup_read, 0) AS tables, coalesce(idx_tup_fetch, 0) AS indexes FROM pg_stat_user_tables WHERE relid = 'orders'::regclass").Scan(&s).Error
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDoctorMistakes(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.SQLite)
	shop(t, dsn)
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no database", nil, usage, "no database: give --dsn"},
		{"no URL", []string{"--dsn", "app:" + password + "@tcp(db)/shop"}, usage, "dsn: not a database URL"},
		{"no such file", []string{"--dsn", dsn + ".missing"}, failed, "database: there is no file"},
		{"nobody listens", []string{"--dsn", "postgres://app:" + password + "@127.0.0.1:1/shop"}, failed, "connection refused"},
		{"argument", []string{"--dsn", dsn, "orders"}, usage, `"gormflake doctor" takes no arguments, got "orders"`},
		{"unknown layout", []string{"--dsn", dsn, "--layout", "odd"}, usage, `--layout "odd"`},
		{"table of workers", []string{"--dsn", dsn, "--table", "a b"}, usage, "WithTable"},
		{"unknown flag", []string{"--dsn", dsn, "--odd"}, usage, "unknown flag: --odd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := command(t, append([]string{"doctor"}, test.args...)...)
			wantOutcome(t, got, test.code, "", test.want)
			if strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "gormflake: ") {
				t.Errorf("standard error is not one line of gormflake:\n%s", got.err)
			}
			if strings.Contains(got.err, password) {
				t.Errorf("the password is shown: %s", got.err)
			}
		})
	}
	if _, err := os.Stat(strings.TrimPrefix(dsn, "sqlite://") + ".missing"); err == nil {
		t.Error("a file has been created")
	}
}

func TestDoctorExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	moved(t, open(t, "sqlite://shop.db"), "orders", "VARCHAR(60) UNIQUE")
	for _, args := range examples(t, []string{"doctor"}) {
		if got := command(t, args...); got.code != ok {
			t.Errorf("%q ends with code %d:\n%s%s", args, got.code, got.out, got.err)
		}
	}
}

// What is missing because the command was ended is no finding.
func TestDoctorInterrupted(t *testing.T) {
	t.Parallel()
	dsn := testdb.URL(t, testdb.Postgres)
	db := open(t, dsn)
	slow := shadowed(t, dsn, `clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now() FROM pg_sleep(600)'`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan outcome, 1)
	go func() { done <- commandWith(ctx, nil, "doctor", "--dsn", slow+"&application_name="+t.Name()) }()
	for asked := 0; asked == 0; time.Sleep(5 * time.Millisecond) {
		db.Raw("SELECT count(*) FROM pg_stat_activity WHERE application_name = ? AND state = 'active' AND query LIKE '%clock_timestamp%'", t.Name()).Scan(&asked)
		select {
		case got := <-done:
			t.Fatalf("doctor has ended: %+v", got)
		default:
		}
	}
	cancel()
	got := <-done
	wantOneLine(t, got, "interrupted")
	if got.out != "" {
		t.Errorf("an interrupted doctor reports:\n%s", got.out)
	}
}
