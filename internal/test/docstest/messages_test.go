package docstest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver of the store that is rejected

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// quotedSituations lists the situations whose messages docs/guarantees.md quotes.
var quotedSituations = []struct {
	situation string
	provoke   func(t *testing.T) []string
}{
	{"outage", inBubble(provokeOutage)},
	{"all workers held", inBubble(provokeNoFreeWorker)},
	{"restart with the clock set back", inBubble(provokeSetBack)},
	{"lost under WithWorker", inBubble(provokeLost)},
	{"forgotten", inBubble(func(t *testing.T) []string { return provokeForgotten(t, false) })},
	{"forgotten and taken", inBubble(func(t *testing.T) []string { return provokeForgotten(t, true) })},
	{"short settling", inBubble(provokeShortSettling)},
	{"clock ahead of the store's", inBubble(provokeFarAhead)},
	{"clock set back under a lease", inBubble(provokeLead)},
	{"absurd clock under a lease", inBubble(provokeAbsurdClock)},
	{"another layout", inBubble(provokeOtherLayout)},
	{"clock of a fixed number", provokeFixedClock},
	{"clock before the epoch", provokeBeforeEpoch},
	{"expired", provokeExpired},
	{"full tick", inBubble(provokeFullTick)},
	{"worker in use", provokeInUse},
	{"no number", provokeNoNumber},
	{"closed", provokeClosed},
	{"JSON", provokeJSON},
	{"store that can forget", provokeVolatile},
	{"table without a key", provokeBrokenTable},
	{"row without a key", provokeUnsetKey},
}

// TestQuotedMessages compares the ```text blocks of the page, line by line, with the
// messages of the code. Each message must be in both. It compares only the form of times,
// durations, counts and owners.
func TestQuotedMessages(t *testing.T) { //nolint:paralleltest // provokeNoNumber changes the environment
	page, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindAllSubmatch(page, -1) {
		for line := range strings.Lines(string(block[1])) {
			lines[normalize(line)] = line
		}
	}
	for _, q := range quotedSituations {
		for _, message := range q.provoke(t) {
			if _, ok := lines[normalize(message)]; !ok {
				t.Errorf("%s: docs/guarantees.md does not quote\n%s", q.situation, message)
			}
			delete(lines, normalize(message))
		}
	}
	for _, line := range lines {
		t.Errorf("docs/guarantees.md quotes what nothing here says:\n%s", line)
	}
}

// variableParts match the parts of a message that differ between runs, with the names that
// replace them.
var variableParts = []struct {
	variable *regexp.Regexp
	name     string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)`), "TIME"},
	{regexp.MustCompile(`[\w.-]+/\d+/[A-Z2-7]{26}`), "OWNER"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|ns|h|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b\d+ attempts`), "N attempts"},
}

// normalize replaces the parts of a message that differ between runs.
func normalize(message string) string {
	for _, f := range variableParts {
		message = f.variable.ReplaceAllString(message, f.name)
	}
	return strings.TrimSpace(message)
}

// inBubble runs a situation with a clock that starts in November 2026.
func inBubble(provoke func(t *testing.T) []string) func(t *testing.T) []string {
	return func(t *testing.T) (messages []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
			messages = provoke(t)
		})
		return messages
	}
}

// outageStore is a store that a test can make unreachable.
type outageStore struct {
	*leasetest.Memory
	down atomic.Bool
}

// errRefused is the error of a store that is down.
var errRefused = errors.New("dial tcp 10.0.0.5:5432: connect: connection refused")

// Load fails while the store is down.
func (r *outageStore) Load(ctx context.Context) (map[int]lease.Record, error) {
	if r.down.Load() {
		return nil, errRefused
	}
	return r.Memory.Load(ctx)
}

// CompareAndSwap fails while the store is down.
func (r *outageStore) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	if r.down.Load() {
		return false, errRefused
	}
	return r.Memory.CompareAndSwap(ctx, worker, old, next)
}

// messageLog is a handler that records the level and text of logged messages, without their
// attributes.
type messageLog struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

func newMessageLog() *messageLog { return &messageLog{Handler: slog.DiscardHandler} }

func (s *messageLog) Enabled(context.Context, slog.Level) bool { return true }

func (s *messageLog) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s *messageLog) WithGroup(string) slog.Handler { return s }

// Handle records a message.
func (s *messageLog) Handle(_ context.Context, r slog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, r.Level.String()+" "+r.Message)
	return nil
}

// alarms returns the warnings and errors, and the messages that end them.
func (s *messageLog) alarms() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.text), func(m string) bool {
		return strings.HasPrefix(m, "INFO lease: worker ")
	})
}

// leasedGenerator returns a generator of worker 3 of the store, which has issued an ID, and
// the log of its lease.
func leasedGenerator(t *testing.T, store lease.Store, opts ...lease.Option) (*snowflake.Generator, *messageLog) {
	t.Helper()
	log := newMessageLog()
	opts = append([]lease.Option{lease.WithLogger(slog.New(log)), lease.WithWorker(3)}, opts...)
	l, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	gen := newGenerator(t, l)
	if _, err := gen.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	return gen, log
}

// newGenerator returns a generator of the source.
func newGenerator(t *testing.T, source snowflake.WorkerSource, opts ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return gen
}

// textsOf returns the texts of errors, and fails the test if an error is nil.
func textsOf(t *testing.T, errs ...error) []string {
	t.Helper()
	var messages []string
	for _, err := range errs {
		if err == nil {
			t.Error("a situation has no error")
			continue
		}
		messages = append(messages, err.Error())
	}
	return messages
}

// provokeOutage makes the store unreachable until the lease's window has ended. It
// returns the errors of creates and of the generator, and the log until the store is
// back.
func provokeOutage(t *testing.T) []string {
	store := &outageStore{Memory: leasetest.NewMemory()}
	gen, log := leasedGenerator(t, store)
	time.Sleep(25 * time.Second)
	store.down.Store(true)
	time.Sleep(60 * time.Second)
	_, tryErr := gen.TryNext()
	db := plugintest.Dry(t, gormflake.New(gen))
	type Order struct{ gormflake.Model }
	errs := textsOf(t, db.Create(&Order{}).Error, tryErr)
	if err := gen.Health(); !errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("health = %v, want ErrFenced", err)
	}
	store.down.Store(false)
	time.Sleep(time.Second)
	return append(errs, log.alarms()...)
}

// provokeNoFreeWorker acquires the only wanted worker, which another lease holds.
func provokeNoFreeWorker(t *testing.T) []string {
	store := leasetest.NewMemory()
	leasedGenerator(t, store)
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithWorker(3))
	return textsOf(t, err)
}

// provokeSetBack acquires a worker again after the clock was set back by an hour, so that the
// worker has issued IDs of a later time.
func provokeSetBack(t *testing.T) []string {
	store := leasetest.NewMemory()
	gen, _ := leasedGenerator(t, store)
	if err := gen.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	hourBack := func() time.Time { return time.Now().Add(-time.Hour) }
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithWorker(3), lease.WithClock(hourBack))
	return textsOf(t, err)
}

// provokeLost lets another process take the only worker that the lease may hold.
func provokeLost(t *testing.T) []string {
	store := leasetest.NewMemory()
	gen, log := leasedGenerator(t, store)
	takeWorker3(store, time.Minute)
	time.Sleep(70 * time.Second)
	_, err := gen.Next(t.Context())
	return append(textsOf(t, err), log.alarms()[0]) // the page quotes only the first alarm
}

// takeWorker3 leases worker 3 to another process, and moves the bound of its record into the
// future by the duration later.
func takeWorker3(store *leasetest.Memory, later time.Duration) {
	bound := store.Records()[3].Bound + later.Milliseconds()
	store.Put(3, lease.Record{Bound: bound, Owner: "web-2/1/ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
}

// provokeForgotten reverts the record to its state before the last renewals, as a failover to
// a replica that lags does. If taken is true, another process has taken the worker then.
func provokeForgotten(t *testing.T, taken bool) []string {
	store := leasetest.NewMemory()
	gen, log := leasedGenerator(t, store)
	old := store.Records()[3]
	time.Sleep(25 * time.Second)
	store.Put(3, old)
	if taken {
		takeWorker3(store, time.Second)
	}
	time.Sleep(20 * time.Second)
	if s := gen.Source().(*lease.Lease).Stats(); s.Regressions != 1 {
		t.Errorf("%d regressions, want 1", s.Regressions)
	}
	return log.alarms()[:1] // the page quotes only the first alarm
}

// provokeShortSettling acquires a lease whose settle time is too short for lagging clocks.
func provokeShortSettling(t *testing.T) []string {
	_, log := leasedGenerator(t, leasetest.NewMemory(), lease.WithSettle(time.Second))
	return log.alarms()
}

// provokeAbsurdClock sets the clock a year ahead while a lease is held.
func provokeAbsurdClock(t *testing.T) []string {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	gen, _ := leasedGenerator(t, leasetest.NewMemory(), lease.WithClock(clock))
	ahead.Store(int64(365 * 24 * time.Hour))
	time.Sleep(25 * time.Second)
	return textsOf(t, gen.Source().(*lease.Lease).Stats().Failure)
}

// provokeFarAhead acquires a lease with a clock that is decades ahead of the store's.
func provokeFarAhead(t *testing.T) []string {
	store := leasetest.WithTime(leasetest.NewMemory(), time.Now)
	in2050 := func() time.Time { return time.Now().AddDate(24, 0, 0) }
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithClock(in2050))
	return textsOf(t, err)
}

// provokeLead sets the clock back by five minutes while a lease is held. It then takes an ID
// in each of ten minutes, in which the clock catches up with the IDs.
func provokeLead(t *testing.T) []string {
	var ahead atomic.Int64
	gen, log := leasedGenerator(t, leasetest.NewMemory(), lease.WithClock(func() time.Time {
		return time.Now().Add(time.Duration(ahead.Load()))
	}))
	ahead.Store(int64(-5 * time.Minute))
	for range 10 {
		time.Sleep(time.Minute)
		if _, err := gen.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return log.alarms()
}

// provokeOtherLayout acquires a lease in another layout than the store's leases have.
func provokeOtherLayout(t *testing.T) []string {
	store := leasetest.NewMemory()
	leasedGenerator(t, store)
	_, err := lease.Acquire(t.Context(), store, snowflake.JSSafeLayout())
	return textsOf(t, err)
}

// freshLayout returns a layout that no other generator of this process has, so that its
// fixed workers are free, even if the test runs again.
func freshLayout() snowflake.Option {
	layout := snowflake.TwitterLayout()
	layout.Epoch = time.UnixMilli(1577836800000 + layouts.Add(1)*3_600_000) // an hour of 2020
	return snowflake.WithLayout(layout)
}

// layouts counts the calls of freshLayout.
var layouts atomic.Int64

// provokeFixedClock sets the clock of a generator with a fixed worker an hour back, and
// then a year ahead.
func provokeFixedClock(t *testing.T) []string {
	var offset atomic.Int64
	gen := newGenerator(t, snowflake.Static(0, 3), freshLayout(), snowflake.WithClock(func() time.Time {
		return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(offset.Load()))
	}))
	step := func(d time.Duration) error {
		offset.Store(int64(d))
		_, err := gen.Next(t.Context())
		return err
	}
	if err := step(0); err != nil {
		t.Fatal(err)
	}
	return textsOf(t, step(-time.Hour), step(365*24*time.Hour))
}

// provokeBeforeEpoch creates a generator with a clock that is before the layout's epoch.
func provokeBeforeEpoch(t *testing.T) []string {
	_, err := snowflake.New(snowflake.Static(0, 3), snowflake.WithClock(func() time.Time { return time.Unix(0, 0) }))
	return textsOf(t, err)
}

// provokeExpired creates a generator with a clock that is after the last time that the
// layout can represent.
func provokeExpired(t *testing.T) []string {
	late := func() time.Time { return time.Date(2080, 8, 1, 0, 0, 0, 0, time.UTC) }
	_, err := snowflake.New(snowflake.Static(0, 3), snowflake.WithClock(late))
	return textsOf(t, err)
}

// provokeFullTick issues IDs until the tick has none left. It then asks for 100,000 IDs, which
// the generator cannot issue within a millisecond.
func provokeFullTick(t *testing.T) []string {
	gen := newGenerator(t, snowflake.Static(0, 3), freshLayout())
	var err error
	for err == nil {
		_, err = gen.TryNext() // time does not advance in a bubble that is busy
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return textsOf(t, err, gen.Fill(ctx, make([]types.ID, 100_000)))
}

// provokeInUse creates two generators for one fixed worker.
func provokeInUse(t *testing.T) []string {
	layout := freshLayout()
	newGenerator(t, snowflake.Static(0, 3), layout)
	_, err := snowflake.New(snowflake.Static(0, 3), layout)
	return textsOf(t, err)
}

// provokeNoNumber reads the worker from a variable that is not set.
func provokeNoNumber(t *testing.T) []string {
	t.Setenv("SNOWFLAKE_DATACENTER_ID", "0")
	t.Setenv("SNOWFLAKE_WORKER_ID", "") // restores the variable after the test
	if err := os.Unsetenv("SNOWFLAKE_WORKER_ID"); err != nil {
		t.Fatal(err)
	}
	_, err := snowflake.New(snowflake.FromEnv())
	return textsOf(t, err)
}

// provokeClosed wants an ID from a generator that is closed.
func provokeClosed(t *testing.T) []string {
	gen := newGenerator(t, snowflake.Static(0, 3), freshLayout())
	if err := gen.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := gen.Next(t.Context())
	return textsOf(t, err)
}

// provokeUnsetKey creates rows without a key, first without the plugin. With the plugin, the
// key is 0 in a map, has no tag, or is reset by a callback.
func provokeUnsetKey(t *testing.T) []string {
	plugin := plugintest.NewPlugin(t)
	messages := textsOf(t, createTagged(plugintest.Dry(t, nil), nil), createTagged(plugintest.Dry(t, plugin), map[string]any{"id": "0"}))
	type Order struct{ ID types.ID }
	db := plugintest.Dry(t, plugin)
	messages = append(messages, textsOf(t, db.Create(&Order{}).Error)...)
	err := db.Callback().Create().Before("gorm:create").Register("reset", func(db *gorm.DB) { db.Statement.SetColumn("ID", 0) })
	if err != nil {
		t.Fatal(err)
	}
	return append(messages, textsOf(t, createTagged(db, nil))...)
}

// createTagged creates an order from a map, or an order without a key.
func createTagged(db *gorm.DB, order map[string]any) error {
	type Order struct {
		ID types.ID `snowflake:"pk"`
	}
	if order != nil {
		return db.Model(&Order{}).Create(order).Error
	}
	return db.Create(&Order{}).Error
}

// provokeJSON reads two numbers that are not IDs: one in the form of a float, and 2^63.
func provokeJSON(t *testing.T) []string {
	var id types.ID
	return textsOf(t, json.Unmarshal([]byte("2.1209e18"), &id), json.Unmarshal([]byte("9223372036854775808"), &id))
}

// provokeVolatile acquires a lease from a database that does not wait for its disk, so that
// it can forget a write.
func provokeVolatile(t *testing.T) []string {
	return textsOf(t, acquireFrom(t, "?_pragma=synchronous(off)"))
}

// provokeBrokenTable acquires a lease from a table that has no primary key.
func provokeBrokenTable(t *testing.T) []string {
	const create = "CREATE TABLE snowflake_workers (namespace TEXT NOT NULL, worker_id INTEGER NOT NULL, bound BIGINT, owner TEXT)"
	return textsOf(t, acquireFrom(t, "", create))
}

// acquireFrom acquires a lease from a new file of SQLite and returns its error. settings
// end the DSN of the file, and the statements run before the lease is acquired.
func acquireFrom(t *testing.T, settings string, statements ...string) error {
	t.Helper()
	dsn := "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "shop.db")) + settings
	db, err := gorm.Open(sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: dsn}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatal(err)
		}
	}
	_, err = lease.Acquire(t.Context(), sqllease.New(db, sqllease.WithLogger(plugintest.DiscardLog)), snowflake.TwitterLayout())
	return err
}
