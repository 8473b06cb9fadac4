package sqllease_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/internal/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// A fleet is generators that share a few workers and issue all the time. Each
// has its own pool of connections, through a proxy of its own, and stands for a
// process. What they have issued is compared in the end.
type fleet struct {
	t       *testing.T
	server  *testserver.Server // the first, whose form of URL all have
	window  time.Duration
	workers int64
	wrap    func(lease.Store) lease.Store // may be nil

	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	random  *rand.Rand
	members []*member
	sum     tally
}

func newFleet(t *testing.T, server *testserver.Server, random *rand.Rand, window time.Duration, workers int64) *fleet {
	f := &fleet{t: t, server: server, random: random, window: window, workers: workers}
	f.ctx, f.cancel = context.WithCancel(t.Context())
	t.Cleanup(f.stop)
	return f
}

// stop ends all members in order.
func (f *fleet) stop() {
	f.cancel()
	f.wg.Wait()
}

// windows is a random time between so many windows.
func (f *fleet) windows(from, to float64) time.Duration {
	return time.Duration((from + f.random.Float64()*(to-from)) * float64(f.window))
}

func (f *fleet) nap(d time.Duration) {
	f.t.Helper()
	select {
	case <-time.After(d):
	case <-f.ctx.Done():
		f.t.Fatal(context.Cause(f.ctx))
	}
}

// start adds n members on the server at an address, which begin within spread.
func (f *fleet) start(n int, address string, spread float64) []*member {
	added := make([]*member, n)
	for i := range added {
		m := &member{
			fleet:   f,
			proxy:   testserver.NewProxy(f.t, address),
			random:  rand.New(rand.NewPCG(f.random.Uint64(), 0)),
			holding: make(chan struct{}),
		}
		added[i] = m
		delay := f.windows(0, spread)
		f.wg.Go(func() {
			pause(f.ctx, delay)
			m.run()
		})
	}
	f.members = append(f.members, added...)
	return added
}

// awaitHolding returns when all of them hold a worker.
func (f *fleet) awaitHolding(members []*member) {
	f.t.Helper()
	limit := time.After(patience)
	for i, m := range members {
		select {
		case <-m.holding:
		case <-limit:
			f.t.Fatalf("%d of %d members hold a worker after %v", i, len(members), patience)
		}
	}
}

// A tally is what the members have issued together.
type tally struct {
	ids, duplicates, regressions int

	neverFailed int // holders that noticed no failure while nothing was acknowledged
}

// tally ends all members and counts.
func (f *fleet) tally() tally {
	f.stop()
	var all []types.ID
	sum := f.sum
	for _, m := range f.members {
		all = append(all, m.ids...)
		if m.lease != nil {
			sum.regressions += int(m.lease.Stats().Regressions)
		}
	}
	slices.Sort(all)
	sum.ids = len(all)
	sum.duplicates = len(all) - len(slices.Compact(all))
	return sum
}

// A member is one generator. What it has issued may be read once the fleet has
// stopped, its lease once it holds a worker.
type member struct {
	*fleet
	proxy   *testserver.Proxy
	random  *rand.Rand
	log     errorLog
	holding chan struct{} // closed once lease is set

	lease *lease.Lease
	first lease.Stats // when it held its first worker
	ids   []types.ID
	late  int // IDs under the first worker by calls that began after its loss was known
}

func (m *member) run() {
	store, closeStore := m.open()
	if store == nil {
		return
	}
	defer closeStore()
	if m.lease = m.acquire(store); m.lease == nil {
		return
	}
	m.first = m.lease.Stats()
	close(m.holding)
	// On a shared tick, sequences that start at zero certainly collide.
	gen, err := snowflake.New(m.lease, snowflake.WithSequenceStart(snowflake.StartZero))
	if err != nil {
		m.t.Log(err) // it was too slow to begin within its window
		return
	}
	m.issue(gen)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := gen.Close(ctx); err != nil {
		m.t.Log(err)
	}
}

const (
	retryPause = 10 * time.Millisecond
	issuePause = 500 * time.Microsecond
)

// open tries until the server answers.
func (m *member) open() (lease.Store, func()) {
	for m.ctx.Err() == nil {
		db, err := openQuietly(m.server.URLThrough(m.proxy))
		if err != nil {
			pause(m.ctx, retryPause)
			continue
		}
		store := sqllease.New(db, sqllease.WithLogger(slog.New(slog.DiscardHandler)))
		if m.wrap != nil {
			store = m.wrap(store)
		}
		return store, func() {
			if pool, err := db.DB(); err == nil {
				pool.Close()
			}
		}
	}
	return nil, nil
}

// openQuietly keeps the driver from logging every connection that is cut.
func openQuietly(url string) (*gorm.DB, error) {
	dialector, err := dsn.Open(url)
	if err != nil {
		return nil, err
	}
	if d, ok := dialector.(*mysql.Dialector); ok {
		d.DSNConfig.Logger = &mysqldriver.NopLogger{}
		connector, err := mysqldriver.NewConnector(d.DSNConfig)
		if err != nil {
			return nil, err
		}
		dialector = mysql.New(mysql.Config{Conn: sql.OpenDB(connector)})
	}
	return gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
}

func (m *member) acquire(store lease.Store) *lease.Lease {
	for m.ctx.Err() == nil {
		l, err := lease.Acquire(m.ctx, store, snowflake.TwitterLayout(), lease.WithWindow(m.window),
			lease.WithDatacenter(0), lease.WithWorkers(0, m.workers-1), lease.WithLogger(slog.New(m.log.handler())))
		if err == nil {
			return l
		}
		pause(m.ctx, retryPause)
	}
	return nil
}

func (m *member) issue(gen *snowflake.Generator) {
	block := make([]types.ID, 3)
	for m.ctx.Err() == nil {
		known := m.knowsLoss()
		ids, err := m.take(gen, block)
		if err != nil {
			pause(m.ctx, retryPause)
			continue
		}
		m.ids = append(m.ids, ids...)
		if known && !m.hasFirstAgain() {
			m.late += m.underFirst(ids)
		}
		time.Sleep(issuePause)
	}
}

// take is a call of Next, or of Fill.
func (m *member) take(gen *snowflake.Generator, block []types.ID) ([]types.ID, error) {
	if m.random.IntN(2) == 0 {
		return block, gen.Fill(m.ctx, block)
	}
	id, err := gen.Next(m.ctx)
	return []types.ID{id}, err
}

func (m *member) knowsLoss() bool {
	s := m.lease.Stats()
	return s.Losses+s.Regressions > 0
}

// hasFirstAgain reports whether the lease has lost its first worker and taken it
// once more.
func (m *member) hasFirstAgain() bool {
	s := m.lease.Stats()
	return s.Worker == m.first.Worker && s.Since.After(m.first.Since)
}

func (m *member) underFirst(ids []types.ID) (n int) {
	layout := m.lease.Layout()
	for _, id := range ids {
		if layout.Decompose(id).Worker == m.first.Worker {
			n++
		}
	}
	return n
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// An errorLog keeps what is logged as an error.
type errorLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *errorLog) handler() slog.Handler {
	return slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelError})
}

func (l *errorLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *errorLog) contains(text string) bool { return strings.Contains(l.String(), text) }

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// trustReads is the rule that issued IDs twice: a write that was not answered
// counts if it is seen. It does not wait long for an answer, and so relies on
// what it sees all the time.
type trustReads struct{ lease.Store }

func (s trustReads) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	const wait, notice = 200 * time.Millisecond, 50 * time.Millisecond
	soon, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ok, err := s.Store.CompareAndSwap(soon, worker, old, next)
	if ok {
		return true, nil
	}
	pause(ctx, notice) // until the server knows that nobody waits any more
	if records, lookErr := s.Load(ctx); lookErr == nil && records[worker] == next {
		return true, nil
	}
	return false, err
}
