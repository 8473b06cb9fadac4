package testserver_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestSetClock checks that a restarted server has another clock, and still has its data.
func TestSetClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		start  func(testing.TB, ...string) *testserver.Server
		client func(t *testing.T, url string) client
		now    func(t *testing.T, url string) time.Time
	}{
		{"postgres", testserver.Postgres, sqlClient, sqlNow("SELECT extract(epoch FROM clock_timestamp())")},
		{"mariadb", testserver.MariaDB, sqlClient, sqlNow("SELECT UNIX_TIMESTAMP(SYSDATE(6))")},
		{"redis", durableRedis, redisClient, redisNow},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := test.start(t)
			client := test.client(t, server.URL())
			if err := client.write(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			for _, ahead := range []time.Duration{-2 * time.Hour, 2 * time.Hour, 0} {
				server.Stop()
				if _, err := client.read(t.Context()); err == nil { // this drops the connection
					t.Fatal("answers after it was stopped")
				}
				server.SetClock(ahead)
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
				if got := time.Until(test.now(t, server.URL())); (got - ahead).Abs() > 10*time.Second {
					t.Errorf("the clock is %v ahead, want %v", got, ahead)
				}
				if got, err := client.read(t.Context()); err != nil || got != "one" {
					t.Errorf("read %q, %v, want the value written before", got, err)
				}
			}
		})
	}
}

func durableRedis(t testing.TB, _ ...string) *testserver.Server {
	t.Helper()
	return testserver.Redis(t, "--appendonly yes", "--appendfsync always")
}

// sqlNow returns a function that asks a database for its time, in seconds since 1970.
func sqlNow(question string) func(*testing.T, string) time.Time {
	return func(t *testing.T, url string) time.Time {
		t.Helper()
		var seconds float64
		if err := openSQL(t, url).QueryRowContext(t.Context(), question).Scan(&seconds); err != nil {
			t.Fatal(err)
		}
		return time.Unix(int64(seconds), 0)
	}
}

// redisNow returns the time of a Redis server.
func redisNow(t *testing.T, url string) time.Time {
	t.Helper()
	reply, err := exchange(url, "TIME\r\n") // *2, $10, the seconds, and so on
	lines := strings.Split(reply, "\r\n")
	if err != nil || len(lines) < 3 {
		t.Fatalf("TIME: %q, %v", reply, err)
	}
	seconds, err := strconv.ParseInt(lines[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, 0)
}
