package testserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// PgBouncer starts a PgBouncer in transaction mode in front of the PostgreSQL server. Its
// URL is like the server's. Settings are lines of section pgbouncer of pgbouncer.ini,
// such as "default_pool_size = 2".
func PgBouncer(t testing.TB, server *Server, settings ...string) *Server {
	t.Helper()
	database := []string{
		"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d user=postgres", server.port),
		"[pgbouncer]", "pool_mode = transaction",
	}
	return start(t, pgbouncer, append(database, settings...))
}

// pgbouncer is the engine of PgBouncer. Its settings are whole lines of pgbouncer.ini.
var pgbouncer = &Engine{
	service:    "pgbouncer",
	title:      "PgBouncer",
	version:    []string{"--version"},
	pkg:        "pgbouncer",
	url:        "postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
	stopSignal: syscall.SIGTERM,
	Account:    "postgres",
	find:       func() (string, error) { return inPath("pgbouncer") },
	SetUp: func(s *Server) error {
		lines := append(s.settings, "listen_addr = 127.0.0.1", "listen_port = "+strconv.Itoa(s.port),
			"unix_socket_dir =", "auth_type = any", "admin_users = postgres")
		return os.WriteFile(s.pgbouncerIni(), []byte(strings.Join(lines, "\n")+"\n"), 0o644) //nolint:gosec // another user reads it
	},
	Args: func(s *Server) []string { return []string{s.pgbouncerIni()} },
	Answers: func(s *Server) error {
		// A server answers a request for TLS with one byte, yes or no.
		_, err := ask(s, "\x00\x00\x00\x08\x04\xd2\x16\x2f", 1)
		return err
	},
}

func (s *Server) pgbouncerIni() string { return s.File("pgbouncer.ini") }
