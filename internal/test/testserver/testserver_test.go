package testserver_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// client writes a value to a server and reads it again.
type client struct {
	write func(ctx context.Context, value string) error
	read  func(ctx context.Context) (string, error)
}

// kinds are the servers. A durable server has settings under which it loses no data when
// it is killed.
var kinds = []struct {
	name    string
	durable bool
	start   func(t *testing.T) *testserver.Server
	client  func(t *testing.T, url string) client
}{
	{"postgres", true, func(t *testing.T) *testserver.Server { return testserver.Postgres(t) }, sqlClient},
	{"mariadb", true, func(t *testing.T) *testserver.Server { return testserver.MariaDB(t) }, sqlClient},
	{"mysql", true, func(t *testing.T) *testserver.Server { return testserver.MySQL(t) }, sqlClient},
	{"tidb", true, func(t *testing.T) *testserver.Server { return testserver.TiDB(t) }, sqlClient},
	{"pgbouncer", true, func(t *testing.T) *testserver.Server {
		return testserver.PgBouncer(t, testserver.Postgres(t))
	}, pgbouncerClient},
	{"redis", true, func(t *testing.T) *testserver.Server {
		return testserver.Redis(t, "--appendonly yes", "--appendfsync always")
	}, redisClient},
	{"valkey", true, func(t *testing.T) *testserver.Server {
		return testserver.Valkey(t, "--appendonly yes", "--appendfsync always")
	}, redisClient},
	{"redis in memory", false, func(t *testing.T) *testserver.Server { return testserver.Redis(t) }, redisClient},
	{"etcd", true, func(t *testing.T) *testserver.Server { return testserver.Etcd(t) }, etcdClient},
	{"zookeeper", false, func(t *testing.T) *testserver.Server { return testserver.ZooKeeper(t) }, zookeeperClient},
}

// TestKilledAndStartedAgain checks that a server can be killed, stopped and started again,
// and that a durable server still has its data.
func TestKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := kind.start(t)
			client := kind.client(t, server.URL())
			if err := client.write(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			for name, end := range map[string]func(){"killed": server.Kill, "stopped": server.Stop} {
				end()
				end() // no process is left to end
				if _, err := client.read(t.Context()); err == nil {
					t.Fatalf("answers after it was %s", name)
				}
				if err := server.Start(); err != nil {
					t.Fatalf("start after it was %s: %v", name, err)
				}
				if got, err := client.read(t.Context()); kind.durable && (err != nil || got != "one") {
					t.Errorf("after it was %s: read %q, %v, want the value written before", name, got, err)
				}
			}
			if err := server.Start(); err == nil || !strings.Contains(err.Error(), "it is running") {
				t.Errorf("Start of a running server: %v, want an error", err)
			}
		})
	}
}

// TestPaused checks that a paused server does not answer until it is resumed, and that it
// can be killed and stopped while it is paused.
func TestPaused(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			server := kind.start(t)
			client := kind.client(t, server.URL())
			if err := client.write(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			server.Pause()
			result := make(chan error, 1)
			go func() { result <- client.write(t.Context(), "two") }()
			select {
			case err := <-result:
				t.Fatalf("a paused server has answered: %v", err)
			case <-time.After(200 * time.Millisecond):
			}
			server.Resume()
			if err := <-result; err != nil {
				t.Errorf("after Resume: %v", err)
			}
			server.Pause()
			server.Kill()
			if err := server.Start(); err != nil {
				t.Errorf("start after it was killed while paused: %v", err)
			}
			server.Pause()
			server.Stop()
		})
	}
}

// TestSettings checks that servers run with the settings of the test. TestKilledAndStartedAgain
// checks Redis' settings, because without them Redis would lose its data there.
func TestSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		server func(t *testing.T) *testserver.Server
		query  string
		want   string
	}{
		{"postgres", func(t *testing.T) *testserver.Server { return testserver.Postgres(t, "synchronous_commit=off") }, "SHOW synchronous_commit", "off"},
		{"mariadb", func(t *testing.T) *testserver.Server {
			return testserver.MariaDB(t, "innodb_flush_log_at_trx_commit=0")
		}, "SELECT @@innodb_flush_log_at_trx_commit", "0"},
		{"mysql", func(t *testing.T) *testserver.Server {
			return testserver.MySQL(t, "innodb_flush_log_at_trx_commit=2")
		}, "SELECT @@innodb_flush_log_at_trx_commit", "2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got string
			if err := openSQL(t, test.server(t).URL()).QueryRow(test.query).Scan(&got); err != nil || got != test.want {
				t.Errorf("%s: %q, %v, want %q", test.query, got, err, test.want)
			}
		})
	}
}

// TestRefusedSetting checks that a test fails at once, and shows the reason, if the
// server rejects a setting.
func TestRefusedSetting(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		testserver.Redis(r, "--no-such-setting yes")
	}()
	if r.skip != "" {
		t.Skip(r.skip)
	}
	if !strings.Contains(r.fatal, "it has ended") || !strings.Contains(r.fatal, "no-such-setting") {
		t.Errorf("failure = %q, want the server's own words", r.fatal)
	}
}

// TestTemporaryTablesOfOthers checks that MariaDB servers do not share a folder for
// temporary tables, because a server that starts deletes the tables in its folder.
func TestTemporaryTablesOfOthers(t *testing.T) {
	dir := openFolder(t)
	t.Setenv("TMPDIR", dir)
	otherTable := filepath.Join(dir, "#sql-temptable-1-2-3.MAI")
	if err := os.WriteFile(otherTable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testserver.MariaDB(t)
	if _, err := os.Stat(otherTable); err != nil {
		t.Error("the server has deleted a temporary table of another one:", err)
	}
}

// TestMissingProgram checks that a test is skipped if a server is not installed, and fails
// if the server is required. Otherwise CI would pass without running the tests.
func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("GORMFLAKE_TEST_SERVERS", "all")
	tests := []struct{ name, require, wantSkip, wantFatal string }{
		{"not required", "mysql", "no Redis server: exec: ", ""},
		{"required", "mysql, redis", "", "apt-get install redis-server (GORMFLAKE_TEST_REQUIRE names redis)"},
		{"misspelled", "reddis", "", `unknown name "reddis": want a comma-separated list of mariadb, mysql, postgres, redis`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GORMFLAKE_TEST_REQUIRE", test.require)
			wantRefusal(t, test.wantSkip, test.wantFatal)
		})
	}
}

// TestMySQLIsNotMariaDB checks that MariaDB's program is rejected, which Debian also
// calls mysqld.
func TestMySQLIsNotMariaDB(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script")
	}
	program := filepath.Join(t.TempDir(), "mysqld")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho mysqld  Ver 10.11.14-MariaDB"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	t.Setenv("GORMFLAKE_TEST_REQUIRE", "")
	t.Setenv("GORMFLAKE_TEST_SERVERS", "all")
	t.Setenv("GORMFLAKE_TEST_MYSQLD", program)
	r := refusal(t, func(t testing.TB) { testserver.MySQL(t) })
	if want := program + " is MariaDB: export GORMFLAKE_TEST_MYSQLD="; !strings.Contains(r.skip, want) {
		t.Errorf("skip = %q, failure %q, want a skip with %q", r.skip, r.fatal, want)
	}
}

// TestServersWanted checks that a test is skipped if GORMFLAKE_TEST_SERVERS does not allow
// tests to start servers, and GORMFLAKE_TEST_REQUIRE does not name its server. A wrong value
// of GORMFLAKE_TEST_SERVERS must make the test fail.
func TestServersWanted(t *testing.T) {
	for _, test := range []struct{ name, servers, require, wantSkip, wantFatal string }{
		{"unset", "", "", "set GORMFLAKE_TEST_SERVERS=all", ""},
		{"another required", "", "etcd", "set GORMFLAKE_TEST_SERVERS=all", ""},
		{"misspelled", "al", "", "", `GORMFLAKE_TEST_SERVERS="al": want all`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GORMFLAKE_TEST_SERVERS", test.servers)
			t.Setenv("GORMFLAKE_TEST_REQUIRE", test.require)
			wantRefusal(t, test.wantSkip, test.wantFatal)
		})
	}
}

// wantRefusal fails t unless a test that starts a server is skipped or fails with these
// messages. An empty message means that it is not skipped, or does not fail.
func wantRefusal(t *testing.T, skip, fatal string) {
	t.Helper()
	r := refusal(t, func(t testing.TB) { testserver.Redis(t) })
	if (r.skip == "") != (skip == "") || !strings.Contains(r.skip, skip) {
		t.Errorf("skip = %q, want %q", r.skip, skip)
	}
	if (r.fatal == "") != (fatal == "") || !strings.Contains(r.fatal, fatal) {
		t.Errorf("failure = %q, want %q", r.fatal, fatal)
	}
}

// refusal calls start with a test that records whether start skips it or makes it fail.
func refusal(t *testing.T, start func(t testing.TB)) (r *recorder) {
	t.Helper()
	r = &recorder{TB: t}
	defer func() { _ = recover() }()
	start(r)
	return r
}

// roleVariable makes a second process of this test binary a test that waits with its own
// server until it is killed.
const roleVariable = "GORMFLAKE_TESTSERVER_ROLE"

// TestServerDiesWithTheTest checks that no process of a server, even of a paused server,
// outlives a test process that is killed and runs no cleanup.
func TestServerDiesWithTheTest(t *testing.T) {
	if os.Getenv(roleVariable) != "" {
		waitToBeKilled(t)
	}
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends children together with their parent")
	}
	if titles, _ := testserver.Missing(); slices.Contains(titles, "PostgreSQL") && !testserver.Required("postgres") {
		t.Skip("PostgreSQL is not installed")
	}
	for _, paused := range []string{"running", "paused"} {
		t.Run(paused, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithTheTest$")
			child.Env = append(os.Environ(), roleVariable+"="+paused, "TMPDIR="+openFolder(t))
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			var pids string
			_, err = fmt.Fscan(out, &pids)
			_ = child.Process.Kill()
			_ = child.Wait()
			if err != nil {
				t.Fatalf("the child has not said what it has started: %v", err)
			}
			for pid := range strings.SplitSeq(pids, ",") {
				awaitEnd(t, pid)
			}
		})
	}
}

// openFolder returns a temporary folder that every user may enter.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gormflake-test-") //nolint:usetesting // nobody else enters t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// waitToBeKilled starts a server, prints the numbers of its processes, and waits.
func waitToBeKilled(t *testing.T) {
	server := testserver.Postgres(t)
	if os.Getenv(roleVariable) == "paused" {
		server.Pause()
	}
	fmt.Println(strings.Join(descendants(t, strconv.Itoa(os.Getpid())), ","))
	select {}
}

// descendants returns all processes that pid and its children have started.
func descendants(t *testing.T, pid string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for child := range strings.FieldsSeq(string(text)) {
			all = append(append(all, child), descendants(t, child)...)
		}
	}
	return all
}

// awaitEnd fails the test unless the process ends within a minute.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
	}
	name, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	t.Errorf("process %s, %q, has outlived the test that started it", pid, name)
}

func openSQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	return testdb.OpenURL(t, url).ConnPool.(*sql.DB)
}

// sqlClient returns a client of a database, with a new table for its values.
func sqlClient(t *testing.T, url string) client {
	db := openSQL(t, url)
	if _, err := db.Exec("CREATE TABLE kept (value VARCHAR(9))"); err != nil {
		t.Fatal(err)
	}
	return client{
		write: func(ctx context.Context, value string) error {
			_, err := db.ExecContext(ctx, "INSERT INTO kept VALUES ('"+value+"')")
			return err
		},
		read: func(ctx context.Context) (value string, err error) {
			err = db.QueryRowContext(ctx, "SELECT value FROM kept").Scan(&value)
			return value, err
		},
	}
}

// pgbouncerClient does not prepare statements, because PgBouncer does not keep them.
func pgbouncerClient(t *testing.T, url string) client {
	return sqlClient(t, url+"&default_query_exec_mode=simple_protocol")
}

// redisClient returns a client that sends commands as lines of text.
func redisClient(_ *testing.T, url string) client {
	return client{
		write: func(_ context.Context, value string) error {
			_, err := exchange(url, "SET key "+value+"\r\n")
			return err
		},
		read: func(context.Context) (string, error) {
			reply, err := exchange(url, "GET key\r\n")
			_, value, _ := strings.Cut(reply, "\r\n") // the line before it is the length, $3
			return strings.TrimSpace(value), err
		},
	}
}

// zookeeperClient only asks for the state, because ZooKeeper's protocol is binary.
func zookeeperClient(_ *testing.T, url string) client {
	ask := func() (string, error) { return exchange(url, "srvr") }
	return client{
		write: func(context.Context, string) error { _, err := ask(); return err },
		read:  func(context.Context) (string, error) { return ask() },
	}
}

// exchange sends a question, and returns the first part of the server's reply.
func exchange(url, question string) (string, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "redis://"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(question)); err != nil {
		return "", err
	}
	reply := make([]byte, 4096)
	n, err := conn.Read(reply)
	return string(reply[:n]), err
}

// etcdClient uses etcd's JSON interface, in which keys and values are in Base64.
func etcdClient(_ *testing.T, url string) client {
	post := func(ctx context.Context, method, body string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v3/kv/"+method, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text := make([]byte, 4096)
		n, _ := response.Body.Read(text)
		if response.StatusCode != http.StatusOK {
			return "", errors.New(response.Status)
		}
		return string(text[:n]), nil
	}
	values := map[string]string{"one": "b25l", "two": "dHdv"} // base64
	return client{
		write: func(ctx context.Context, value string) error {
			_, err := post(ctx, "put", `{"key":"a2V5","value":"`+values[value]+`"}`)
			return err
		},
		read: func(ctx context.Context) (string, error) {
			text, err := post(ctx, "range", `{"key":"a2V5"}`)
			for value, encoded := range values {
				if strings.Contains(text, encoded) {
					return value, err
				}
			}
			return text, err
		},
	}
}

// recorder is a test that ends with a panic.
type recorder struct {
	testing.TB
	skip, fatal string
}

func (r *recorder) Skip(args ...any) {
	r.skip = fmt.Sprint(args...)
	panic(r)
}

func (r *recorder) Fatal(args ...any) {
	r.fatal = fmt.Sprint(args...)
	panic(r)
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
