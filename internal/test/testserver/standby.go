package testserver

import (
	"fmt"
	"net"
	"testing"
)

// PostgresStandby starts a PostgreSQL server on a copy of the primary's data. It follows
// the primary through a proxy, which can cut it off. Its settings are like those of
// [Postgres], and it does not get the primary's settings.
func PostgresStandby(t testing.TB, primary *Proxy, settings ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.Address())
	if err != nil {
		t.Fatalf("testserver: %v", err)
	}
	standby := *postgres
	standby.SetUp = func(s *Server) error {
		return s.Run(s.sibling("pg_basebackup"), "--host="+host, "--port="+port, "--username=postgres", "--no-sync",
			"--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--pgdata="+s.Data())
	}
	return start(t, &standby, settings)
}

// Promote makes a standby a primary, and returns once it accepts writes.
func (s *Server) Promote() error {
	if err := s.Run(s.sibling("pg_ctl"), "promote", "--wait", "--pgdata="+s.Data()); err != nil {
		return fmt.Errorf("testserver: promote %s: %w; the end of its log:\n%s", s.engine.title, err, s.LogTail())
	}
	return nil
}
