package testserver

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// MariaDBPair starts two MariaDB servers, a primary and a replica. The replica follows the
// primary through the proxy replication, which can cut the replica off. Both servers get the
// settings.
//
// With semiSync the primary acknowledges a commit only after the replica has written the commit
// to its relay log (AFTER_SYNC). The primary waits for the replica for up to an hour,
// which is longer than a test. By default it would continue without the replica after ten
// seconds.
func MariaDBPair(t testing.TB, semiSync bool, settings ...string) (primary, replica *Server, replication *Proxy) {
	t.Helper()
	first := []string{"server-id=1", "log-bin=binlog"}
	second := []string{"server-id=2", "log-bin=binlog", "log-slave-updates", "read-only=ON"}
	if semiSync {
		first = append(first, "rpl-semi-sync-master-enabled=ON", "rpl-semi-sync-master-wait-point=AFTER_SYNC",
			"rpl-semi-sync-master-timeout=3600000")
		second = append(second, "rpl-semi-sync-slave-enabled=ON") // with the primary's setting, it would wait for its own replica
	}
	primary = MariaDB(t, slices.Concat(settings, first)...)
	replication = NewProxy(t, primary.Address())
	replica = MariaDB(t, slices.Concat(settings, second)...)
	if err := replica.follow(replication); err != nil {
		t.Fatal(err)
	}
	if err := replica.eventually("follow its primary", replica.following); err != nil {
		t.Fatal(err)
	}
	return primary, replica, replication
}

// follow makes the server a replica of the primary behind the proxy.
func (s *Server) follow(primary *Proxy) error {
	host, port, err := net.SplitHostPort(primary.Address())
	if err != nil {
		return err
	}
	_, err = s.Query(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='root', "+
		"MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos; START SLAVE", host, port))
	return err
}

// following returns nil if both threads of a replica run, of which one receives the
// primary's events and the other applies them.
func (s *Server) following() error {
	text, err := s.Query("SHOW SLAVE STATUS")
	if err == nil && strings.Count(text, "Yes") < 2 {
		err = fmt.Errorf("%w: %s", ErrNotReady, text)
	}
	return err
}

// PromoteReplica makes a replica a primary, after it has applied all events that it
// received, and returns when it accepts writes.
func (s *Server) PromoteReplica() error {
	if _, err := s.Query("STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	err := s.eventually("apply its relay log", func() error {
		state, err := s.Query("SELECT @@gtid_slave_pos, (SELECT STATE FROM information_schema.PROCESSLIST WHERE COMMAND='Slave_SQL')")
		if err == nil && !strings.Contains(state, "has read all relay log") {
			err = fmt.Errorf("%w: %s", ErrNotReady, state)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.Query("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only=OFF")
	return err
}

// CaughtUp returns when a replica has applied all writes that its primary has now.
func (s *Server) CaughtUp(primary *Server) error {
	position, err := primary.Query("SELECT @@gtid_binlog_pos")
	if err != nil {
		return err
	}
	return s.eventually("catch up to "+position, func() error {
		got, err := s.Query("SELECT MASTER_GTID_WAIT('" + position + "', 5)")
		if err == nil && got != "0" {
			err = fmt.Errorf("%w: %s", ErrNotReady, got)
		}
		return err
	})
}

// SemiSync reports whether the primary waits for its replica.
func (s *Server) SemiSync() (bool, error) {
	status, err := s.Query("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_status'")
	return strings.HasSuffix(status, "ON"), err
}

// eventually waits until ready returns nil. what completes the error, "… did not what".
func (s *Server) eventually(what string, ready func() error) error {
	if err := Await(startTimeout, ready); err != nil {
		return fmt.Errorf("testserver: %s did not %s within %v: %w; the end of its log:\n%s", s.engine.title, what, startTimeout, err, s.LogTail())
	}
	return nil
}

// Await calls ready until it returns nil. After the timeout it returns ready's error.
func Await(timeout time.Duration, ready func() error) error {
	const pause = 50 * time.Millisecond
	for deadline := time.Now().Add(timeout); ; time.Sleep(pause) {
		if err := ready(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
