package sqllease_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// An execution sends a statement to the database. An interception is called in place of
// an execution, and may call it.
type (
	execution    = func() (driver.Result, error)
	interception = func(execution) (driver.Result, error)
)

// errReset is the error of a connection that has broken.
var errReset = errors.New("connection reset by peer")

// An outcome is a fault of a write between the store and the database, the expected result
// of CompareAndSwap, and the record that the fault leaves.
type outcome struct {
	name    string
	fault   func(execute execution, other lease.Store) (driver.Result, error) // other is another process's store
	want    bool                                                              // whether CompareAndSwap returns true
	wantErr string                                                            // its error, or empty if there is none
	leaves  func(from, to lease.Record) lease.Record                          // returns the record that the fault leaves
}

// outcomes are the faults that a write must survive on every database.
var outcomes = []outcome{
	{"acknowledgement lost", func(execute execution, _ lease.Store) (driver.Result, error) {
		return ignore(execute, errReset)
	}, false, "sqllease: connection reset by peer", written},
	{"request lost", func(execution, lease.Store) (driver.Result, error) {
		return nil, errReset
	}, false, "sqllease: connection reset by peer", unwritten},
	{"connection dead before", func(execution, lease.Store) (driver.Result, error) {
		return nil, driver.ErrBadConn
	}, true, "", written},
	{"sent, and the driver says that it was not", func(execute execution, _ lease.Store) (driver.Result, error) {
		return ignore(execute, driver.ErrBadConn)
	}, false, "", written},
	{"sent twice by a proxy", func(execute execution, _ lease.Store) (driver.Result, error) {
		_, _ = execute()
		return execute()
	}, false, "", written},
	{"another was first", func(execute execution, other lease.Store) (driver.Result, error) {
		overwrite(other, third)
		return execute()
	}, false, "", overwritten},
	{"acknowledgement lost, and another came after", func(execute execution, other lease.Store) (driver.Result, error) {
		_, _ = execute()
		overwrite(other, third)
		return nil, errReset
	}, false, "sqllease: connection reset by peer", overwritten},
}

// CompareAndSwap returns true only for an acknowledged write, whatever is lost between the
// store and the database. After any outcome, the caller can read the record and replace it.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, test := range outcomes {
		for name, from := range map[string]lease.Record{"update": first, "insert": {}} {
			t.Run(test.name+" "+name, func(t *testing.T) {
				t.Parallel()
				testdb.Each(t, func(t *testing.T, db *gorm.DB) {
					test.inject(t, db, &proxy{}, from, (*proxy).onWrite)
				})
			})
		}
	}
}

// inject writes a record while the fault happens, and checks the result and the record. The
// function on chooses the statement with the fault: the write itself, or its COMMIT.
func (o outcome) inject(t *testing.T, db *gorm.DB, p *proxy, from lease.Record, on func(*proxy, interception)) {
	t.Helper()
	store, other := newStore(proxied(t, db, p)), newStore(db)
	if from != (lease.Record{}) {
		swap(t, other, 1, lease.Record{}, from, true)
	}
	load(t, store) // so that the store's first use is over
	on(p, func(execute execution) (driver.Result, error) { return o.fault(execute, other) })
	got, err := store.CompareAndSwap(within(t, patience), 1, from, second)
	if got != o.want || errorText(err) != o.wantErr {
		t.Errorf("CompareAndSwap = %v, %v, want %v, %q", got, err, o.want, o.wantErr)
	}
	current := load(t, store)[1]
	if want := o.leaves(from, second); current != want {
		t.Errorf("the record is %+v, want %+v", current, want)
	}
	swap(t, store, 1, current, lease.Record{Bound: current.Bound + 1, Owner: "after"}, true)
}

// These functions return the record that a fault leaves: the new record, the old record, or
// that of another process.
func written(_, to lease.Record) lease.Record             { return to }
func unwritten(from, _ lease.Record) lease.Record         { return from }
func overwritten(lease.Record, lease.Record) lease.Record { return third }

// ignore executes the statement and returns err instead of the answer.
func ignore(execute execution, err error) (driver.Result, error) {
	_, _ = execute()
	return nil, err
}

// overwrite writes the record as another process.
func overwrite(s lease.Store, to lease.Record) {
	records, _ := s.Load(context.Background())
	_, _ = s.CompareAndSwap(context.Background(), 1, records[1], to)
}

// errorText returns the text of the error, or "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The store repeats a write after an error that means that the database has not applied the
// write, for example because of a deadlock. For PostgreSQL the test has the SQLSTATE of each
// error.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for target, texts := range map[testdb.Target][]string{
		testdb.SQLite: {"database is locked (5) (SQLITE_BUSY)", "database table is locked: snowflake_workers"},
		testdb.MySQL: {
			"Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
			"Error 1205 (HY000): Lock wait timeout exceeded; try restarting transaction",
			"Error 1020 (HY000): Record has changed since last read in table 'snowflake_workers'",
		},
		testdb.Postgres: {"40001", "40P01", "55P03"},
	} {
		for _, text := range texts {
			testdb.EachOf(t, testdb.Alike(target), func(t *testing.T, db *gorm.DB) {
				p := &proxy{}
				store := newStore(proxied(t, db, p))
				swap(t, store, 1, lease.Record{}, first, true)
				p.onWrite(func(execution) (driver.Result, error) { return nil, stateError(text) })
				swap(t, store, 1, first, second, true)
			})
		}
	}
}

// A stateError has its text as SQLSTATE, like errors of PostgreSQL's drivers.
type stateError string

func (e stateError) Error() string    { return string(e) }
func (e stateError) SQLState() string { return string(e) }

// The record already equals the new record of a call of CompareAndSwap, and no longer its old
// record. The call must return false, because it has not written the record.
func TestWrittenByAnother(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		swap(t, store, 1, lease.Record{}, first, true)
		swap(t, store, 1, lease.Record{}, first, false)
		swap(t, store, 1, first, second, true)
		swap(t, store, 1, first, second, false)
	})
}

// A row of zeros, which a person may have inserted, counts as an absent record.
func TestZeroRow(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		store := newStore(db)
		load(t, store)
		run(t, db, "INSERT INTO snowflake_workers VALUES ('default', 1, 0, '')")
		swap(t, store, 1, lease.Record{}, first, true)
		swap(t, store, 1, lease.Record{}, second, false)
	})
}

// If the database says that an INSERT has added no row, or that an UPDATE has changed two,
// or does not count rows, the store returns an error instead of guessing.
func TestOddCounts(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		p := &proxy{}
		store := newStore(proxied(t, db, p))
		load(t, store)
		quoted := quotedTable(db)
		// counts makes the next write report that it has changed n rows.
		counts := func(n int64) {
			p.onWrite(func(execution) (driver.Result, error) { return driver.RowsAffected(n), nil })
		}
		wantSwapError := func(from lease.Record, want string) {
			t.Helper()
			if written, err := store.CompareAndSwap(within(t, patience), 1, from, second); written || errorText(err) != want {
				t.Errorf("CompareAndSwap = %v, %v, want %s", written, err, want)
			}
		}
		counts(0)
		wantSwapError(lease.Record{}, "sqllease: the INSERT has added 0 rows: want 1; look for a trigger or a rule of table "+quoted)
		counts(2)
		wantSwapError(first, "sqllease: the UPDATE has changed 2 rows: want a unique key of table "+quoted+" over (namespace, worker_id)")
		p.onWrite(func(execution) (driver.Result, error) { return driver.ResultNoRows, nil })
		if written, err := store.CompareAndSwap(within(t, patience), 1, first, second); written || err == nil {
			t.Errorf("CompareAndSwap without a count = %v, %v, want an error", written, err)
		}
	})
}

// quotedTable returns the name of the table as errors contain it.
func quotedTable(db *gorm.DB) string {
	if db.Dialector.Name() == "mysql" {
		return "`snowflake_workers`"
	}
	return `"snowflake_workers"`
}

// After connections have died in the pool, a call tries another connection instead of
// failing.
func TestPoolOfDeadConnections(t *testing.T) {
	t.Parallel()
	testdb.EachMySQL(t, func(t *testing.T, db *gorm.DB) {
		storeDB := open(t, mysqlWith(func(c *mysql.Config) { c.DSNConfig.Logger = &mysqldriver.NopLogger{} })(t, db))
		store := newStore(storeDB)
		swap(t, store, 1, lease.Record{}, first, true)
		leaveDeadConnections(t, db, storeDB, 5)
		swap(t, store, 1, first, second, true)
		leaveDeadConnections(t, db, storeDB, 5)
		if got := load(t, store)[1]; got != second {
			t.Errorf("the record is %+v, want %+v", got, second)
		}
	})
}

// leaveDeadConnections leaves n dead connections in the pool of storeDB. It kills them
// over a connection of db. It returns all of them to the pool at its end, because the pool
// would otherwise use the same connection again.
func leaveDeadConnections(t *testing.T, db, storeDB *gorm.DB, n int) {
	t.Helper()
	pool, err := storeDB.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxIdleConns(n)
	for range n {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var id int64
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(fmt.Sprintf("KILL %d", id)).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// The store refuses records that a column might cut or change, and a write that changes
// nothing.
func TestRefusesRecords(t *testing.T) {
	t.Parallel()
	store := newStore(testdb.Open(t, testdb.SQLite))
	long := strings.Repeat("x", 129)
	for _, test := range []struct {
		worker int
		record lease.Record
		want   string
	}{
		{1, lease.Record{}, "sqllease: the old and the new record of worker 1 are both {Bound:0 Owner:}: want a new one that differs"},
		{1, lease.Record{Owner: long}, `sqllease: owner "` + long + `": want at most 128 characters of printable ASCII`},
		{1, lease.Record{Owner: "é"}, `sqllease: owner "é": want at most 128 characters of printable ASCII`},
		{1, lease.Record{Owner: "a\n"}, `sqllease: owner "a\n": want at most 128 characters of printable ASCII`},
		{1 << 31, first, "sqllease: worker 2147483648 is out of range: want 32 bits"},
	} {
		swapped, err := store.CompareAndSwap(within(t, patience), test.worker, lease.Record{}, test.record)
		if swapped || errorText(err) != test.want {
			t.Errorf("CompareAndSwap(%d, %+v) = %v, %v, want %s", test.worker, test.record, swapped, err, test.want)
		}
	}
}
