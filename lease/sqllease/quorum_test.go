package sqllease_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// A primary waits for either of two standbys, so that one standby may lack acknowledged
// writes. Promoting the standby that has received most loses no write. If the standby that
// was cut off is promoted, the store has forgotten, and IDs are issued twice.
func TestFailoverQuorum(t *testing.T) {
	t.Parallel()
	t.Run("furthest", func(t *testing.T) {
		t.Parallel()
		eachFailover(t, func(t *testing.T, random *rand.Rand) {
			q := newQuorum(t, random)
			sum := q.promote(slices.MaxFunc(q.standbys, q.compare))
			wantNothingLost(t, sum)
		})
	})
	t.Run("behind", func(t *testing.T) {
		t.Parallel()
		eachFailover(t, func(t *testing.T, random *rand.Rand) {
			q := newQuorum(t, random)
			if sum := q.promote(slices.MinFunc(q.standbys, q.compare)); sum.Duplicates == 0 || sum.Regressions == 0 {
				t.Error("want IDs issued twice and alarms, or the standby was not behind")
			}
		})
	})
}

// A quorum is a failover from a primary to one of two standbys.
type quorum struct {
	*failover
	primary  *testserver.Server
	standbys []*testserver.Server
}

// newQuorum cuts one of the two standbys off, at random. After more than a window, in
// which the holders have extended, it kills the primary.
func newQuorum(t *testing.T, random *rand.Rand) *quorum {
	t.Helper()
	q := &quorum{primary: testserver.Postgres(t, "synchronous_standby_names=ANY 1 (s1, s2)")}
	var upstream []*testserver.Proxy
	for _, name := range []string{"s1", "s2"} {
		proxy := testserver.NewProxy(t, q.primary.Address())
		upstream = append(upstream, proxy)
		q.standbys = append(q.standbys, testserver.PostgresStandby(t, proxy, "cluster_name="+name))
	}
	q.failover = beginFailover(t, random, q.primary, storetest.FleetConfig{Window: 1500 * time.Millisecond})
	q.sleepRandomly(0.3, 0.6)
	upstream[random.IntN(2)].Lose()
	q.sleepRandomly(1.1, 1.6)
	q.primary.Kill()
	return q
}

// compare is negative if the first standby has received less.
func (q *quorum) compare(a, b *testserver.Server) int { return q.received(a) - q.received(b) }

// received returns how many bytes of the primary's log the standby has received.
func (q *quorum) received(standby *testserver.Server) int {
	q.t.Helper()
	text, err := standby.Query("SELECT pg_last_wal_receive_lsn() - '0/0'")
	if err != nil {
		q.t.Fatal(err)
	}
	bytes, err := strconv.Atoi(text)
	if err != nil {
		q.t.Fatal(err)
	}
	return bytes
}

// promote promotes the standby. Takers whose clocks are behind start exactly at the
// bounds that the standby shows, before the holders reach it.
func (q *quorum) promote(standby *testserver.Server) storetest.Tally {
	q.t.Helper()
	q.Clocks = []time.Duration{-20 * time.Second}
	q.takeOver(standby)
	q.sleepRandomly(1, 1.5)
	return q.report()
}
