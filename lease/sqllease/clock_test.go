package sqllease_test

import (
	"strconv"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
)

// Now returns the right time whatever time zone the session has. A time that the server has
// converted to the zone of the session would be wrong by hours.
func TestNow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		target testdb.Target
		open   func(t *testing.T, db *gorm.DB) *gorm.DB
	}{
		{"default", testdb.Postgres, defaultSettings},
		{"default", testdb.MySQL, defaultSettings},
		{"west", testdb.Postgres, inPostgresZone("America/New_York")},
		{"east", testdb.Postgres, inPostgresZone("Asia/Kathmandu")},
		{"simple protocol", testdb.Postgres, func(t *testing.T, db *gorm.DB) *gorm.DB {
			t.Helper()
			return open(t, postgresSimple("TimeZone=Asia/Kathmandu")(t, db))
		}},
		{"west", testdb.MySQL, inMySQLZone("-11:00")},
		{"east", testdb.MySQL, inMySQLZone("+13:00")},
		{"parsed times", testdb.MySQL, func(t *testing.T, db *gorm.DB) *gorm.DB {
			t.Helper()
			return open(t, mysqlWith(func(c *mysql.Config) {
				c.DSNConfig.ParseTime = true
			})(t, db))
		}},
	} {
		for _, target := range testdb.Alike(test.target) {
			t.Run(string(target)+" "+test.name, func(t *testing.T) {
				t.Parallel()
				store := newStore(test.open(t, testdb.Open(t, target)))
				wantNow(t, store)
				wantNow(t, connect(t, store))
			})
		}
	}
}

// wantNow expects the store to return the clock of this machine, on which the servers
// of tests run.
func wantNow(t *testing.T, store lease.Store) {
	t.Helper()
	const apart = time.Second
	before := time.Now()
	now, err := store.(lease.Clock).Now(within(t, patience))
	if err != nil || now.Before(before.Add(-apart)) || now.After(time.Now().Add(apart)) {
		t.Errorf("Now = %v, %v, want about %v", now, err, before)
	}
}

// inPostgresZone returns a function that opens the database in this time zone.
func inPostgresZone(name string) func(*testing.T, *gorm.DB) *gorm.DB {
	return func(t *testing.T, db *gorm.DB) *gorm.DB {
		t.Helper()
		return open(t, postgresWith("TimeZone="+name)(t, db))
	}
}

// inMySQLZone returns a function that opens the database with this offset from UTC.
func inMySQLZone(offset string) func(*testing.T, *gorm.DB) *gorm.DB {
	return func(t *testing.T, db *gorm.DB) *gorm.DB {
		t.Helper()
		return open(t, mysqlWith(func(c *mysql.Config) {
			c.DSNConfig.Params = map[string]string{"time_zone": "'" + offset + "'"}
		})(t, db))
	}
}

// Now is right in the hour that local time repeats when daylight saving ends. The test sets
// the current time of a session by the variable timestamp. In the repeated hour
// UNIX_TIMESTAMP() is wrong, by which the test checks that the server's local time really was
// in this hour.
func TestNowAtTheEndOfDaylightSaving(t *testing.T) {
	t.Setenv("TZ", "Europe/Berlin")
	t.Run("mariadb", func(t *testing.T) { endsDaylightSaving(t, testserver.MariaDB(t)) })
	t.Run("mysql", func(t *testing.T) { endsDaylightSaving(t, testserver.MySQL(t)) })
}

// endsDaylightSaving reads the server's time at two moments that have the same local time.
func endsDaylightSaving(t *testing.T, s *testserver.Server) {
	t.Helper()
	d, err := dsn.Open(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	server := open(t, d)
	fooled := false // whether UNIX_TIMESTAMP was wrong, as in the repeated hour
	for _, want := range []time.Time{
		time.Date(2026, time.October, 25, 0, 30, 0, 0, time.UTC), // 02:30 in summer time
		time.Date(2026, time.October, 25, 1, 30, 0, 0, time.UTC), // 02:30 in winter time
	} {
		db := open(t, mysqlWith(func(c *mysql.Config) {
			c.DSNConfig.Params = map[string]string{"timestamp": strconv.FormatInt(want.Unix(), 10)}
		})(t, server))
		got, err := newStore(db).(lease.Clock).Now(within(t, patience))
		if err != nil || !got.Equal(want) {
			t.Errorf("Now = %v, %v, want %v", got.UTC(), err, want)
		}
		var local int64
		if err := db.Raw("SELECT UNIX_TIMESTAMP(NOW())").Scan(&local).Error; err != nil {
			t.Fatal(err)
		}
		fooled = fooled || local != want.Unix()
	}
	if !fooled {
		t.Error("the server's local time is not ambiguous: want time zones (Debian package tzdata)")
	}
}

// SQLite only has the clock of the process, with which the process cannot check itself. So a
// store on SQLite must not be a lease.Clock.
func TestSQLiteHasNoClock(t *testing.T) {
	t.Parallel()
	store := newStore(testdb.Open(t, testdb.SQLite))
	for name, s := range map[string]lease.Store{"store": store, "connected store": connect(t, store)} {
		if _, ok := s.(lease.Clock); ok {
			t.Errorf("the %s is a lease.Clock", name)
		}
	}
}

// If the pool is closed, Now must return an error.
func TestNowFails(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.Postgres)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	store := newStore(db).(lease.Clock)
	pool.Close()
	if now, err := store.Now(within(t, patience)); err == nil {
		t.Errorf("Now of a closed pool = %v, %v, want an error", now, err)
	}
}
