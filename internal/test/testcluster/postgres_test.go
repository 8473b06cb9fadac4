package testcluster_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testcluster"
)

// TestPostgres checks that the URL leads to the current primary, which has every
// acknowledged write after each failover to the synchronous standby. While the standby is
// cut off, the primary must not acknowledge a write.
func TestPostgres(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Postgres(t)
	db := openKept(t, cluster.URLs()[0])
	for _, fault := range []struct {
		fault testcluster.Fault
		value string
	}{
		{testcluster.Killed, "1"},
		{testcluster.CutOff, "2"},
	} {
		must(t, write(t.Context(), db, fault.value))
		must(t, cluster.Break(fault.fault))
		must(t, cluster.Failover())
		if got := kept(t, db, "MIN"); got != "1" {
			t.Errorf("after %s: read %q, want the first value", fault.fault, got)
		}
		must(t, cluster.Heal())
	}
	must(t, cluster.Break(testcluster.StandbyCutOff))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := write(ctx, db, "3"); err == nil {
		t.Error("the new primary has not waited for its standby")
	}
	must(t, cluster.Heal())
	must(t, write(t.Context(), db, "4"))
}

// TestPostgresForgets checks that after CutReplicas the next leader lacks the writes that
// were acknowledged since.
func TestPostgresForgets(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Postgres(t)
	db := openKept(t, cluster.URLs()[0])
	must(t, write(t.Context(), db, "1"))
	for standbys := 0; standbys < 2; { // wait until both standbys have the first value
		const query = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()"
		must(t, db.QueryRowContext(t.Context(), query).Scan(&standbys))
	}
	must(t, cluster.CutReplicas())
	must(t, write(t.Context(), db, "2"))
	must(t, cluster.Break(testcluster.Killed))
	must(t, cluster.Failover())
	if got := kept(t, db, "MAX"); got != "1" {
		t.Errorf("after a failover to a standby that lags: read %q, want the value before the cut", got)
	}
	must(t, cluster.Heal())
	must(t, write(t.Context(), db, "3"))
}

func write(ctx context.Context, db *sql.DB, value string) error {
	_, err := db.ExecContext(ctx, "INSERT INTO kept VALUES ('"+value+"')")
	return err
}

// kept returns the smallest or largest value of the table, by which, MIN or MAX. It repeats
// the query until a server answers.
func kept(t *testing.T, db *sql.DB, which string) (value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for value == "" && ctx.Err() == nil {
		soon, stop := context.WithTimeout(ctx, 3*time.Second)
		_ = db.QueryRowContext(soon, "SELECT "+which+"(value) FROM kept").Scan(&value) // a connection to the old primary ends with its context
		stop()
	}
	return value
}
