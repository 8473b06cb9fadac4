// Package testserver starts a separate server process for a test, on a free port of
// 127.0.0.1 and with its data in a temporary folder. The test may stop, kill and pause
// the server, and start it again on the same data and port.
//
// The server's programs must be installed. If they are missing, the test is skipped, or
// fails if GORMFLAKE_TEST_REQUIRE, a comma-separated list, names the service:
//
//	postgres   Debian package postgresql
//	mariadb    Debian package mariadb-server
//	mysql      GORMFLAKE_TEST_MYSQLD, a program mysqld; .ci/mysqld gets one
//	redis      Debian package redis-server
//	etcd       Debian package etcd-server
//	zookeeper  Debian package zookeeper
//	pgbouncer  Debian package pgbouncer
//	galera     Debian packages galera-4 and rsync, of a cluster of MariaDB
//	patroni    Debian packages patroni and python3-etcd
//	haproxy    Debian package haproxy
//	tidb       GORMFLAKE_TEST_TIDB, a program tidb-server; "make tidb" builds one
//
// A server is killed when its test ends. Under Linux it is also killed when the test
// process dies for any reason. Servers do not flush to the disk unless their settings
// make them, because killing a process loses no data that it has written to files.
package testserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// How long a server may take to start and to stop.
const (
	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second
	portAttempts = 3 // to start a server on a free port
)

// Server is a server process. Its methods may be called concurrently.
type Server struct {
	t        testing.TB
	engine   *Engine
	program  string
	settings []string
	dir      string // folder of everything that the server writes
	port     int

	mu      sync.Mutex
	process *process // nil while the server is down
	clock   string   // the library of SetClock
	env     []string // variables from the next start on, in addition to the engine's

	pid atomic.Int64 // number of the last started process, available while it starts
}

// Postgres starts a PostgreSQL server with superuser postgres, who needs no password, and
// an empty database of the same name. Settings are lines of postgresql.conf, such as
// "synchronous_commit=off".
func Postgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, postgres, settings)
}

// MariaDB starts a MariaDB server with user root, who needs no password, and an empty
// database test. Settings are options of the command line without their dashes, such as
// "innodb_flush_log_at_trx_commit=0".
func MariaDB(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, mariadb, settings)
}

// MySQL starts a MySQL server like [MariaDB]. It has a binary log, which is MySQL's
// default.
func MySQL(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, mysql, settings)
}

// TiDB starts a TiDB server with its embedded storage, like [MariaDB]. Settings are
// options of the command line.
func TiDB(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, tidb, settings)
}

// Redis starts a Redis server that keeps its data in memory only. Settings are options of
// the command line, such as "--appendonly yes".
func Redis(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, redis, settings)
}

// Valkey starts a Valkey server like [Redis].
func Valkey(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, valkey, settings)
}

// Etcd starts an etcd cluster of one member. Settings are options of the command line,
// such as "--snapshot-count=100".
func Etcd(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, etcd, settings)
}

// ZooKeeper starts a ZooKeeper server. Settings are lines of zoo.cfg, such as
// "tickTime=500".
func ZooKeeper(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, zookeeper, settings)
}

// URL returns the server's address, which never changes. It is a URL for PostgreSQL,
// MariaDB and MySQL (all in the form of package dsn), Redis and etcd, and host:port for
// ZooKeeper.
func (s *Server) URL() string { return fmt.Sprintf(s.engine.url, s.port) }

// URLThrough returns the URL for clients that connect to the server through a proxy.
func (s *Server) URLThrough(p *Proxy) string { return fmt.Sprintf(s.engine.url, p.port()) }

// Address returns the address on which the server listens, host:port.
func (s *Server) Address() string { return address(s.port) }

// PID returns the number of the last started process, which is known while it starts, or
// 0.
func (s *Server) PID() int { return int(s.pid.Load()) }

// Running reports whether the server runs, which means that it was started, and neither
// stopped nor killed since.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil
}

// Answers returns nil if the server is ready.
func (s *Server) Answers() error { return s.engine.Answers(s) }

// Start starts the server again after Stop or Kill, and returns once it answers.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return fmt.Errorf("testserver: start %s: it is running", s.engine.title)
	}
	command, err := s.command(s.program, s.engine.Args(s)...)
	if err != nil {
		return err
	}
	command.Env = slices.Concat(command.Env, s.engine.env, s.env)
	p, err := startProcess(command)
	if err != nil {
		return fmt.Errorf("testserver: start %s: %w", s.engine.title, err)
	}
	s.pid.Store(int64(p.pid))
	if err := s.await(p); err != nil {
		p.kill()
		return fmt.Errorf("testserver: start %s: %w; the end of its log:\n%s", s.engine.title, err, s.LogTail())
	}
	s.process = p
	return nil
}

// Stop shuts the server down normally, as its operator would. It first resumes a paused
// server. It does nothing if the server is down.
func (s *Server) Stop() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	if err := s.process.stop(s.engine.stopSignal, stopTimeout); err != nil {
		s.t.Errorf("testserver: stop %s: %v; the end of its log:\n%s", s.engine.title, err, s.LogTail())
	}
	s.process = nil
}

// Kill ends the server and all its processes by SIGKILL, and returns when they are gone.
// It does nothing if the server is down.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Pause stops all processes of the server by SIGSTOP. Connections then stay open without
// replies.
func (s *Server) Pause() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.t.Errorf("testserver: pause %s: it is down", s.engine.title)
		return
	}
	if err := s.process.pause(); err != nil {
		s.t.Errorf("testserver: pause %s: %v", s.engine.title, err)
	}
}

// Resume lets a paused server continue. It does nothing if the server is not paused.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.resume()
	}
}

// start starts a server for the test. If it does not start, start tries again on another
// port.
func start(t testing.TB, e *Engine, settings []string) *Server {
	t.Helper()
	program := Find(t, *e)
	var s *Server
	var err error
	for range portAttempts { // another process may take the free port first
		if s, err = place(t, *e, program, settings); err == nil {
			err = s.Create()
		}
		if err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// Find returns the path of the engine's program. If the program is not installed, or if
// GORMFLAKE_TEST_SERVERS does not allow tests to start servers, the test is skipped. The test
// instead fails if GORMFLAKE_TEST_REQUIRE names the service.
func Find(t testing.TB, e Engine) string {
	t.Helper()
	CheckRequired(t)
	program, err := e.locate()
	if err != nil {
		skipMissing(t, &e, err)
	}
	return program
}

// Place assigns a port and a folder to a server, which [Server.Create] starts.
func Place(t testing.TB, e Engine, settings ...string) (*Server, error) {
	t.Helper()
	return place(t, e, Find(t, e), settings)
}

// place is [Place] for a program that has been found.
func place(t testing.TB, e Engine, program string, settings []string) (s *Server, err error) {
	s = &Server{t: t, engine: &e, program: program, settings: slices.Clone(settings)}
	if s.port, err = FreePort(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "gormflake-"+e.service+"-"); err != nil { //nolint:usetesting // no other user, such as postgres, can enter t.TempDir
		return nil, fmt.Errorf("testserver: %w", err)
	}
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(s.dir); err != nil {
			t.Errorf("testserver: %v", err)
		}
	})
	return s, nil
}

// Configure adds settings to a server that is not running.
func (s *Server) Configure(settings ...string) { s.settings = append(s.settings, settings...) }

// Create makes the data folder and starts the server for the first time.
func (s *Server) Create() error {
	if err := s.engine.SetUp(s); err != nil {
		return fmt.Errorf("testserver: set up %s: %w; the end of its log:\n%s", s.engine.title, err, s.LogTail())
	}
	return s.Start()
}

// skipMissing skips t, because a server of the engine cannot be started. err gives the reason. It
// instead fails t if GORMFLAKE_TEST_REQUIRE names the service.
func skipMissing(t testing.TB, e *Engine, err error) {
	t.Helper()
	hint := fmt.Sprintf("testserver: no %s server: %v", e.title, err)
	if Required(e.service) {
		t.Fatalf("%s (%s names %s)", hint, requireVariable, e.service)
	}
	t.Skip(hint)
}

// await waits until the server answers. It returns an error if the process p ends, or if the
// server does not answer within startTimeout.
func (s *Server) await(p *process) error {
	deadline := time.After(startTimeout)
	for {
		err := s.engine.Answers(s)
		select {
		case <-p.done: // another server on the port may have answered
			return errors.New("it has ended")
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return errors.New("it has ended")
		case <-deadline:
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
