package sqllease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/stall"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/storetest"
)

// Before a failover, members hold all workers. After it, newcomers want some of them.
const (
	failoverWorkers   = 4
	failoverNewcomers = 3
)

// eachFailover runs GORMFLAKE_TEST_FAILOVERS failovers, by default one.
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

// newRandom returns random numbers for a schedule, and logs their seed. To repeat a
// schedule, though not its timing, put its seed here.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A synchronous standby is cut off, so that commits wait for it. If a client gives up such
// a wait, the primary shows a row that the standby does not have and that was not
// acknowledged. The standby then takes over. No ID is issued twice, because a lease issues only
// below a bound that the store has acknowledged, and reading its own row is no acknowledgement.
func TestFailoverSynchronousStandby(t *testing.T) {
	t.Parallel()
	eachFailover(t, func(t *testing.T, random *rand.Rand) {
		wantNothingLost(t, synchronousStandby(t, random, nil)) // the members' stores are right
	})
}

// MariaDB shows a commit to readers before its log is on disk. The disk stalls, and the
// server is killed, so that it has forgotten such commits after its restart. No ID is
// issued twice, because a lease issues only below a bound that the store has acknowledged, and
// reading its own row is no acknowledgement.
func TestFailoverStalledLog(t *testing.T) {
	t.Parallel()
	eachFailover(t, func(t *testing.T, random *rand.Rand) {
		wantNothingLost(t, stalledLog(t, random, nil)) // the members' stores are right
	})
}

// wantNothingLost expects that no ID was issued twice, and that no member has found a record
// that had lost an acknowledged write (a regression).
func wantNothingLost(t *testing.T, sum storetest.Tally) {
	t.Helper()
	if sum.Duplicates > 0 {
		t.Errorf("%d of %d IDs were issued twice", sum.Duplicates, sum.IDs)
	}
	if sum.Regressions > 0 {
		t.Errorf("%d regressions, want none: the store has kept what it had acknowledged", sum.Regressions)
	}
}

// A failover is a fleet whose server fails. Each member reaches the server through a proxy of
// its own, so that the test can lead each member to another server.
type failover struct {
	*storetest.Fleet
	t       *testing.T
	random  *rand.Rand
	url     func(*testserver.Proxy) string // returns the server's URL through the proxy
	holders []*storetest.Member
	proxies []*testserver.Proxy // of the holders
}

// beginFailover starts the holders, and returns when each of them holds a worker.
func beginFailover(t *testing.T, random *rand.Rand, server *testserver.Server, config storetest.FleetConfig) *failover {
	t.Helper()
	f := &failover{t: t, random: random, url: server.URLThrough}
	config.Dial, config.Workers = dial, failoverWorkers
	f.Fleet = storetest.NewFleet(t, config)
	f.holders, f.proxies = f.start(failoverWorkers, server.Address(), 0.5)
	f.AwaitHolding(f.holders)
	return f
}

// start starts n members, each with a proxy that leads to the address. They begin at random
// moments within the next spread windows. start also returns their proxies.
func (f *failover) start(n int, address string, spread float64) ([]*storetest.Member, []*testserver.Proxy) {
	proxies, urls := make([]*testserver.Proxy, n), make([]string, n)
	for i := range proxies {
		proxies[i] = testserver.NewProxy(f.t, address)
		urls[i] = f.url(proxies[i])
	}
	return f.Start(func() time.Duration { return f.windows(0, spread) }, urls...), proxies
}

// windows returns a random time between from and to windows.
func (f *failover) windows(from, to float64) time.Duration {
	return time.Duration((from + f.random.Float64()*(to-from)) * float64(f.Window))
}

// sleepRandomly sleeps for a random time between from and to windows, and returns this time.
func (f *failover) sleepRandomly(from, to float64) time.Duration {
	d := f.windows(from, to)
	pause(f.t.Context(), d)
	return d
}

// synchronousStandby cuts the standby off, kills the primary a while later and promotes
// the standby. The function wrap, if any, breaks the store of each member.
func synchronousStandby(t *testing.T, random *rand.Rand, wrap func(lease.Store) lease.Store) storetest.Tally {
	primary := testserver.Postgres(t, "synchronous_standby_names=*")
	replication := testserver.NewProxy(t, primary.Address())
	standby := testserver.PostgresStandby(t, replication, "wal_retrieve_retry_interval=100ms")
	f := beginFailover(t, random, primary, storetest.FleetConfig{Window: 1500 * time.Millisecond, Wrap: wrap})
	f.sleepRandomly(0.5, 1)
	// The standby is cut off silently, or with its connection closed.
	if random.IntN(2) == 0 {
		replication.Lose()
	} else {
		replication.Lead("")
	}
	f.outage()
	primary.Kill()
	f.recover(standby.Address(), standby.Promote)
	return f.report()
}

// stalledLog stalls the log of the server, kills the server a while later and restarts
// it. The function wrap, if any, breaks the store of each member.
func stalledLog(t *testing.T, random *rand.Rand, wrap func(lease.Store) lease.Store) storetest.Tally {
	server, stall := testserver.StallingMariaDB(t, "innodb_flush_log_at_trx_commit=1")
	f := beginFailover(t, random, server, storetest.FleetConfig{Window: 2 * time.Second, Wrap: wrap})
	f.sleepRandomly(0.5, 1)
	stall.Begin()
	f.outage()
	server.Kill()
	stall.End()
	f.recover(server.Address(), server.Start)
	return f.report()
}

// outage waits while no write is acknowledged. Unless the test has broken the stores of
// the members, every holder must count a failure.
func (f *failover) outage() {
	f.t.Helper()
	f.t.Logf("no acknowledgement for %v", f.sleepRandomly(1.2, 2.2))
	began := time.Now()
	for i, m := range f.holders {
		for m.Stats().Failures == 0 && f.Wrap == nil {
			if time.Since(began) > patience {
				f.t.Fatalf("holder %d has noticed no failure, want writes that are not acknowledged", i)
			}
			pause(f.t.Context(), 10*time.Millisecond)
		}
	}
}

// recover starts a server at an address. Newcomers connect first, and the holders
// follow one by one.
func (f *failover) recover(address string, start func() error) {
	f.t.Helper()
	f.disconnect()
	began := time.Now()
	if err := start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("the server is back after %v", time.Since(began))
	f.start(failoverNewcomers, address, 0)
	for _, proxy := range f.proxies {
		time.AfterFunc(f.windows(0, 0.5), func() { proxy.Lead(address) })
	}
	f.sleepRandomly(1, 2)
}

// disconnect cuts the holders off from every server.
func (f *failover) disconnect() {
	for _, proxy := range f.proxies {
		proxy.Lead("")
	}
}

// report ends the members, logs their counts and returns the sum. It fails the test if a holder
// has issued no ID.
func (f *failover) report() storetest.Tally {
	f.t.Helper()
	sum := f.Finish()
	f.t.Logf("%v, longest halt %v", sum, storetest.TakeHalt(f.holders).Round(10*time.Millisecond))
	for _, m := range f.holders {
		if m.Issued() == 0 {
			f.t.Error("a holder has issued nothing")
		}
	}
	return sum
}

// An asynchronous standby that was cut off has forgotten acknowledged writes. A
// newcomer takes a worker that its holder still has. The holder notices at its next
// write, logs an error, and stops issuing under that worker.
func TestFailoverAsynchronousStandby(t *testing.T) {
	t.Parallel()
	eachFailover(t, func(t *testing.T, random *rand.Rand) {
		primary := testserver.Postgres(t)
		replication := testserver.NewProxy(t, primary.Address())
		standby := testserver.PostgresStandby(t, replication, "wal_retrieve_retry_interval=100ms")
		f := beginFailover(t, random, primary, storetest.FleetConfig{Window: 2 * time.Second})
		awaitStreaming(t, primary)
		f.sleepRandomly(0, 0.3)
		replication.Lead("")
		f.sleepRandomly(1, 1.5) // until the windows that the standby knows of have ended
		primary.Kill()
		f.takeOver(standby)
		for _, m := range f.holders {
			f.awaitAlarm(m)
		}
		f.sleepRandomly(0.3, 0.6)
		if late := f.report().Late; late > 0 {
			t.Errorf("%d IDs under a lost worker by calls that began after the loss was known, want none", late)
		}
	})
}

// A primary that was frozen, replaced and thawed is a second store beside the new primary.
// A holder that reaches only one of the two cannot notice the other. If the standby was
// synchronous, the old primary acknowledges no more writes. If it was asynchronous, both
// lease the same workers for the same windows, until a holder reaches the other server,
// does not find its record there, and logs an error.
func TestFailoverSplitBrain(t *testing.T) {
	t.Parallel()
	t.Run("synchronous", func(t *testing.T) {
		t.Parallel()
		eachFailover(t, func(t *testing.T, random *rand.Rand) {
			f, standby, newcomers := splitBrain(t, random, "synchronous_standby_names=*")
			f.sleepRandomly(2, 3)
			f.End(newcomers)
			f.leadHolders(standby)
			f.AwaitIssuing(f.holders)
			wantNothingLost(t, f.report())
		})
	})
	t.Run("asynchronous", func(t *testing.T) {
		t.Parallel()
		eachFailover(t, func(t *testing.T, random *rand.Rand) {
			f, standby, _ := splitBrain(t, random)
			f.AwaitIssuing(f.holders)
			f.sleepRandomly(0.5, 1)
			for i, m := range f.holders {
				if s := m.Stats(); s.Losses+s.Regressions > 0 {
					t.Errorf("holder %d: %d losses, %d regressions, though it has reached one store only", i, s.Losses, s.Regressions)
				}
			}
			f.leadHolders(standby)
			for _, m := range f.holders {
				f.awaitAlarm(m)
			}
			if f.report().Duplicates == 0 {
				t.Error("no ID was issued twice: want some, or the primary was not replaced")
			}
		})
	})
}

// splitBrain freezes the holders' primary, promotes the standby, and thaws the old
// primary. It returns a while later, when newcomers have taken the holders' workers
// from the new primary.
func splitBrain(t *testing.T, random *rand.Rand, settings ...string) (*failover, *testserver.Server, []*storetest.Member) {
	t.Helper()
	primary := testserver.Postgres(t, settings...)
	replication := testserver.NewProxy(t, primary.Address())
	standby := testserver.PostgresStandby(t, replication, "wal_retrieve_retry_interval=100ms")
	f := beginFailover(t, random, primary, storetest.FleetConfig{Window: 1500 * time.Millisecond})
	awaitStreaming(t, primary)
	f.sleepRandomly(0, 0.5)
	primary.Pause()
	f.sleepRandomly(1.2, 2)
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	newcomers, _ := f.start(failoverNewcomers, standby.Address(), 0)
	f.AwaitHolding(newcomers)
	primary.Resume()
	return f, standby, newcomers
}

// leadHolders sends the holders to another server.
func (f *failover) leadHolders(server *testserver.Server) {
	for _, proxy := range f.proxies {
		proxy.Lead(server.Address())
	}
}

// awaitStreaming waits until the standby has all changes of the primary.
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
	for ctx := within(t, patience); ; pause(ctx, 10*time.Millisecond) {
		var n int
		if err := pool.QueryRowContext(ctx, streaming).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
}

// takeOver promotes the standby. Newcomers take workers on the promoted server before the
// holders of these workers are led to this server.
func (f *failover) takeOver(standby *testserver.Server) {
	f.t.Helper()
	f.disconnect()
	if err := standby.Promote(); err != nil {
		f.t.Fatal(err)
	}
	newcomers, _ := f.start(failoverNewcomers, standby.Address(), 0)
	f.AwaitHolding(newcomers)
	for _, proxy := range f.proxies {
		f.sleepRandomly(0, 0.05)
		proxy.Lead(standby.Address())
	}
}

// awaitAlarm waits until the holder has logged that the store has forgotten. At its next write,
// the holder finds a bound below the bound that the store had acknowledged to it. The record
// with this bound is an older record of the holder, or the record of another process that has
// leased the worker.
func (f *failover) awaitAlarm(m *storetest.Member) {
	f.t.Helper()
	worker := m.First().Worker
	for began := time.Now(); stall.Took(began) < 2*f.Window; pause(f.t.Context(), 10*time.Millisecond) {
		if m.Stats().Regressions > 0 && strings.Contains(m.Errors(), "forgotten") {
			f.t.Logf("worker %d: alarm after %v", worker, time.Since(began))
			return
		}
	}
	s := m.Stats()
	f.t.Errorf("worker %d: %d losses, %d regressions and errors %q after %v: want the alarm of a store that has forgotten",
		worker, s.Losses, s.Regressions, m.Errors(), 2*f.Window)
}

// TestFailoverSynchronousStandby and TestFailoverStalledLog must be able to fail. Here the
// members have a broken store, which counts a write as acknowledged if it can read the
// written record. An ID must be issued twice in at least one of up to ten failovers of each
// kind.
func TestFailoverFindsTrustedReads(t *testing.T) {
	t.Parallel()
	if os.Getenv("GORMFLAKE_TEST_FAILOVERS") == "" {
		t.Skip("takes a minute: set GORMFLAKE_TEST_FAILOVERS")
	}
	const tries = 10
	trust := func(s lease.Store) lease.Store { return trustReads{s} }
	for name, failover := range map[string]func(*testing.T, *rand.Rand, func(lease.Store) lease.Store) storetest.Tally{
		"synchronous standby": synchronousStandby,
		"stalled log":         stalledLog,
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			for n := 0; n < tries && !found; n++ {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					found = failover(t, newRandom(t), trust).Duplicates > 0
				})
			}
			if !found {
				t.Errorf("no duplicate in %d failovers: want one, or the test finds nothing", tries)
			}
		})
	}
}

// trustReads is a store that breaks the rule that only an acknowledged write counts. It
// also returns true for an unanswered write that it can read. It waits only briefly for an
// answer, so that it often relies on reading.
type trustReads struct{ lease.Store }

func (s trustReads) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	const wait, notice = 200 * time.Millisecond, 50 * time.Millisecond
	soon, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ok, err := s.Store.CompareAndSwap(soon, worker, old, next)
	if ok {
		return true, nil
	}
	pause(ctx, notice) // until the server has noticed that the client no longer waits
	if records, lookErr := s.Load(ctx); lookErr == nil && records[worker] == next {
		return true, nil
	}
	return false, err
}

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
