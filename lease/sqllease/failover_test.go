package sqllease_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease"
)

// Before a failover all workers are held, and after it newcomers want some.
const (
	failoverWorkers   = 4
	failoverNewcomers = 3
)

// eachFailover runs GORMFLAKE_TEST_FAILOVERS failovers, or one.
func eachFailover(t *testing.T, run func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	runs := 1
	if text := os.Getenv("GORMFLAKE_TEST_FAILOVERS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 1 {
			t.Fatalf("GORMFLAKE_TEST_FAILOVERS=%q: want a number of runs", text)
		}
	}
	for n := range runs {
		t.Run(strconv.Itoa(n+1), func(t *testing.T) {
			run(t, newRandom(t))
		})
	}
}

// newRandom makes a schedule, though not its timing. To repeat one, put the seed
// that it has logged here.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A cut-off synchronous standby makes commits wait. A wait that is cancelled
// leaves a row that everybody sees, and that the standby does not have.
func TestFailoverSynchronousStandby(t *testing.T) {
	t.Parallel()
	eachFailover(t, func(t *testing.T, random *rand.Rand) {
		wantNothingLost(t, synchronousStandby(t, random, nil))
	})
}

// MariaDB shows a commit before its log is on disk.
func TestFailoverStalledLog(t *testing.T) {
	t.Parallel()
	eachFailover(t, func(t *testing.T, random *rand.Rand) {
		wantNothingLost(t, stalledLog(t, random, nil))
	})
}

// wantNothingLost is for failovers in which the store forgets nothing that it has
// acknowledged.
func wantNothingLost(t *testing.T, sum tally) {
	t.Helper()
	if sum.neverFailed > 0 {
		t.Errorf("%d of %d holders noticed no failure, want writes that are not acknowledged", sum.neverFailed, failoverWorkers)
	}
	if sum.duplicates > 0 {
		t.Errorf("%d of %d IDs were issued twice", sum.duplicates, sum.ids)
	}
	if sum.regressions > 0 {
		t.Errorf("%d regressions, want none: the store has kept what it had acknowledged", sum.regressions)
	}
}

func synchronousStandby(t *testing.T, random *rand.Rand, wrap func(lease.Store) lease.Store) tally {
	primary := testserver.Postgres(t, "synchronous_standby_names=*")
	replication := testserver.NewProxy(t, primary.Address())
	standby := testserver.PostgresStandby(t, replication, "wal_retrieve_retry_interval=100ms")
	f := newFleet(t, primary, random, 1500*time.Millisecond, failoverWorkers)
	f.wrap = wrap
	holders := f.start(failoverWorkers, primary.Address(), 0.5)
	f.awaitHolding(holders)
	f.nap(f.windows(0.5, 1))
	if random.IntN(2) == 0 {
		replication.Lose()
	} else {
		replication.Lead("")
	}
	f.outage(holders, f.windows(1.2, 2.2))
	primary.Kill()
	f.recover(holders, standby.Address(), standby.Promote)
	return f.report()
}

func stalledLog(t *testing.T, random *rand.Rand, wrap func(lease.Store) lease.Store) tally {
	server, stall := testserver.StallingMariaDB(t, "innodb_flush_log_at_trx_commit=1")
	f := newFleet(t, server, random, 2*time.Second, failoverWorkers)
	f.wrap = wrap
	holders := f.start(failoverWorkers, server.Address(), 0.5)
	f.awaitHolding(holders)
	f.nap(f.windows(0.5, 1))
	stall.Begin()
	f.outage(holders, f.windows(1.2, 2.2))
	server.Kill()
	stall.End()
	f.recover(holders, server.Address(), server.Start)
	return f.report()
}

// outage waits while no write is acknowledged, and counts the holders that have
// not noticed.
func (f *fleet) outage(holders []*member, d time.Duration) {
	f.t.Helper()
	f.nap(d)
	for _, m := range holders {
		if m.lease.Stats().Failures == 0 {
			f.sum.neverFailed++
		}
	}
	f.t.Logf("no acknowledgement for %v", d)
}

// recover brings a server back, at an address. Newcomers connect first, and the
// holders follow one by one.
func (f *fleet) recover(holders []*member, address string, start func() error) {
	f.t.Helper()
	for _, m := range holders {
		m.proxy.Lead("")
	}
	began := time.Now()
	if err := start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("the server is back after %v", time.Since(began))
	f.start(failoverNewcomers, address, 0)
	for _, m := range holders {
		delay := f.windows(0, 0.5)
		f.wg.Go(func() {
			pause(f.ctx, delay)
			m.proxy.Lead(address)
		})
	}
	f.nap(f.windows(1, 2))
}

func (f *fleet) report() tally {
	f.t.Helper()
	sum := f.tally()
	f.t.Logf("%d IDs, %d duplicates, %d regressions", sum.ids, sum.duplicates, sum.regressions)
	for i, m := range f.members {
		if len(m.ids) == 0 && i < failoverWorkers {
			f.t.Error("a holder has issued nothing")
		}
	}
	return sum
}

// An asynchronous standby that was cut off has forgotten what was acknowledged.
// A newcomer takes a worker that its holder still has: the holder finds out when
// it looks next, logs that as an error, and stops under that worker.
func TestFailoverAsynchronousStandby(t *testing.T) {
	t.Parallel()
	eachFailover(t, func(t *testing.T, random *rand.Rand) {
		primary := testserver.Postgres(t)
		replication := testserver.NewProxy(t, primary.Address())
		standby := testserver.PostgresStandby(t, replication, "wal_retrieve_retry_interval=100ms")
		f := newFleet(t, primary, random, 2*time.Second, failoverWorkers)
		holders := f.start(failoverWorkers, primary.Address(), 0.3)
		f.awaitHolding(holders)
		awaitStreaming(t, primary)
		f.nap(f.windows(0, 0.3))
		replication.Lead("")
		f.nap(f.windows(1, 1.5)) // what the standby knows of has ended by then
		primary.Kill()
		f.takeOver(holders, standby)
		for _, m := range holders {
			m.awaitAlarm()
		}
		f.nap(f.windows(0.3, 0.6))
		f.report()
		for _, m := range holders {
			if m.late > 0 {
				t.Errorf("%d IDs under worker %d by calls that began after its loss was known, want none", m.late, m.first.Worker)
			}
		}
	})
}

// awaitStreaming returns when the standby has all that the primary has.
func awaitStreaming(t *testing.T, primary *testserver.Server) {
	t.Helper()
	db, err := openQuietly(primary.URL())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= pg_current_wal_lsn()"
	for ctx := within(t, patience); ; pause(ctx, retryPause) {
		var n int
		if err := pool.QueryRowContext(ctx, streaming).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
}

// takeOver lets newcomers take a worker each before its holder looks.
func (f *fleet) takeOver(holders []*member, standby *testserver.Server) {
	f.t.Helper()
	for _, m := range holders {
		m.proxy.Lead("")
	}
	if err := standby.Promote(); err != nil {
		f.t.Fatal(err)
	}
	f.awaitHolding(f.start(failoverNewcomers, standby.Address(), 0))
	for _, m := range holders {
		f.nap(f.windows(0, 0.05))
		m.proxy.Lead(standby.Address())
	}
}

// awaitAlarm waits for the holder to look. It finds its worker taken from a
// bound below its own, or its own record with such a bound.
func (m *member) awaitAlarm() {
	m.t.Helper()
	began := time.Now()
	for time.Since(began) < 2*m.window {
		if m.lease.Stats().Regressions > 0 && m.log.contains("forgotten") {
			m.t.Logf("worker %d: alarm after %v", m.first.Worker, time.Since(began))
			return
		}
		pause(m.ctx, retryPause)
	}
	s := m.lease.Stats()
	m.t.Errorf("worker %d: %d losses, %d regressions and errors %q after %v: want the alarm of a store that has forgotten",
		m.first.Worker, s.Losses, s.Regressions, &m.log, 2*m.window)
}

// With a store that trusts what it reads, both failovers find duplicates.
func TestFailoverFindsTrustedReads(t *testing.T) {
	t.Parallel()
	if os.Getenv("GORMFLAKE_TEST_FAILOVERS") == "" {
		t.Skip("takes a minute: set GORMFLAKE_TEST_FAILOVERS")
	}
	const tries = 10
	trust := func(s lease.Store) lease.Store { return trustReads{s} }
	for name, failover := range map[string]func(*testing.T, *rand.Rand, func(lease.Store) lease.Store) tally{
		"synchronous standby": synchronousStandby,
		"stalled log":         stalledLog,
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			for n := 0; n < tries && !found; n++ {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					found = failover(t, newRandom(t), trust).duplicates > 0
				})
			}
			if !found {
				t.Errorf("no duplicate in %d failovers: want one, or the test finds nothing", tries)
			}
		})
	}
}
