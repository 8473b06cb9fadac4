package onlinetest_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// The copy waits while a replica receives changes but does not apply them, because
// programs that read from this replica would get old rows.
func TestReplicaMariaDB(t *testing.T) {
	t.Parallel()
	primary, replica, _ := testserver.MariaDBPair(t, false, "innodb_flush_log_at_trx_commit=0")
	checkReplicaWait(t, primary, replica, "STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD")
}

// On MySQL too, the copy waits while a replica receives changes but does not apply them.
// testserver has no pair of MySQL servers, so the test connects them itself.
func TestReplicaMySQL(t *testing.T) {
	t.Parallel()
	settings := []string{"innodb_flush_log_at_trx_commit=0", "log_bin_trust_function_creators=1"}
	primary := testserver.MySQL(t, append(settings, "server-id=1")...)
	replica := testserver.MySQL(t, append(settings, "server-id=2", "read-only=ON")...)
	host, port, err := net.SplitHostPort(primary.Address())
	if err == nil {
		_, err = replica.Query(fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='root', "+
			"SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA", host, port))
	}
	if err != nil {
		t.Fatal(err)
	}
	checkReplicaWait(t, primary, replica, "STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD")
}

// checkReplicaWait executes stop on the replica during the copy, after which the replica
// receives changes without applying them. It executes start after the copy has waited three
// times. No row may be copied between these waits. checkReplicaWait also tests that the
// primary is not accepted as its own replica.
func checkReplicaWait(t *testing.T, primary, replica *testserver.Server, stop, start string) {
	t.Helper()
	d := databaseOn(t, primary)
	d.exec(t, mariadbShop(300)...)
	// With 6,300 notes, the copy has more than a thousand batches of at most five rows.
	d.exec(t, "INSERT INTO notes (user_id) SELECT o.user_id FROM orders o, (SELECT 1"+sequence(20)+") more")
	follower := databaseOn(t, replica)
	options := func(more ...sqlmigrate.OnlineOption) []sqlmigrate.OnlineOption {
		return append(more, sqlmigrate.WithMaxLag(500*time.Millisecond), sqlmigrate.WithBatchRows(1, 5), sqlmigrate.WithLastStage(sqlmigrate.StageCopy))
	}
	err := d.online(t).Apply(context.Background(), d.DB, options(sqlmigrate.WithReplicas(follower.DB, d.DB))...)
	wantError(t, err, "the handle of a replica leads to a server with the server_id of the primary: want the address of the replica itself")

	do := func(statement string) {
		if _, err := replica.Query(statement); err != nil {
			t.Error(err)
		}
	}
	var stopped time.Time // when the test stopped the replica
	var rows []int64      // the number of copied rows at each wait, which must not grow
	err = d.online(t).Apply(t.Context(), d.DB, options(sqlmigrate.WithReplicas(follower.DB), sqlmigrate.WithOnlineProgress(func(p sqlmigrate.OnlineProgress) {
		switch behind := strings.HasPrefix(p.Waiting, "a replica that is "); {
		case stopped.IsZero() && p.Table.Name == "notes" && p.OfRows > 0:
			do(stop)
			stopped = time.Now()
			time.Sleep(time.Second) // the lag is read once a second, so the next batch reads it again
		case !stopped.IsZero() && behind:
			if rows = append(rows, p.Rows); len(rows) == 3 {
				do(start)
			}
		}
	}))...)
	status, failed := d.online(t).Status(context.Background(), d.DB)
	if failed != nil || status.Waits == 0 {
		t.Errorf("Status = %+v, %v, want it to count what waited", status, failed)
	}
	if err != nil || len(rows) < 3 || rows[0] != rows[1] || rows[1] != rows[2] || time.Since(stopped) < 2*time.Second {
		t.Errorf("Apply = %v, after it waited with rows %v, and ended %v after the replica had stopped: want that it waited 3 times with the same rows", err, rows, time.Since(stopped))
	}
}

// databaseOn returns the database called test of a server.
func databaseOn(t *testing.T, server *testserver.Server) *mariadbDatabase {
	t.Helper()
	s := &mariadbServer{address: server.Address()}
	return &mariadbDatabase{mariadbOpen(t, s.dsn("test")), s.dsn("test")}
}
