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

// quoted lists the situations whose messages docs/guarantees.md quotes.
var quoted = []struct {
	situation string
	provoke   func(t *testing.T) []string
}{
	{"outage", inBubble(sayOutage)},
	{"all workers held", inBubble(sayNoFreeWorker)},
	{"restart with the clock set back", inBubble(saySetBack)},
	{"lost under WithWorker", inBubble(sayLost)},
	{"forgotten", inBubble(func(t *testing.T) []string { return sayForgotten(t, false) })},
	{"forgotten and taken", inBubble(func(t *testing.T) []string { return sayForgotten(t, true) })},
	{"short settling", inBubble(sayShortSettling)},
	{"clock ahead of the store's", inBubble(sayFarAhead)},
	{"clock set back under a lease", inBubble(sayLead)},
	{"absurd clock under a lease", inBubble(sayAbsurdClock)},
	{"another layout", inBubble(sayOtherLayout)},
	{"clock of a fixed number", sayFixedClock},
	{"clock before the epoch", sayBeforeEpoch},
	{"expired", sayExpired},
	{"full tick", inBubble(sayFullTick)},
	{"worker in use", sayInUse},
	{"no number", sayNoNumber},
	{"closed", sayClosed},
	{"JSON", sayJSON},
	{"store that can forget", sayVolatile},
	{"table without a key", sayBrokenTable},
	{"row without a key", sayUnsetKey},
}

// TestQuotedMessages compares the ```text blocks of the page, line by line, with the
// messages of the code. Each message must be in both. It compares only the form of times,
// durations, counts and owners.
func TestQuotedMessages(t *testing.T) { //nolint:paralleltest // sayNoNumber changes the environment
	page, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindAllSubmatch(page, -1) {
		for line := range strings.Lines(string(block[1])) {
			lines[form(line)] = line
		}
	}
	for _, q := range quoted {
		for _, message := range q.provoke(t) {
			if _, ok := lines[form(message)]; !ok {
				t.Errorf("%s: docs/guarantees.md does not quote\n%s", q.situation, message)
			}
			delete(lines, form(message))
		}
	}
	for _, line := range lines {
		t.Errorf("docs/guarantees.md quotes what nothing here says:\n%s", line)
	}
}

var forms = []struct {
	variable *regexp.Regexp
	name     string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)`), "TIME"},
	{regexp.MustCompile(`[\w.-]+/\d+/[A-Z2-7]{26}`), "OWNER"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|ns|h|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b\d+ attempts`), "N attempts"},
}

// form replaces the parts of a message that differ between runs.
func form(message string) string {
	for _, f := range forms {
		message = f.variable.ReplaceAllString(message, f.name)
	}
	return strings.TrimSpace(message)
}

// inBubble runs a situation with a clock that starts in November 2026.
func inBubble(say func(t *testing.T) []string) func(t *testing.T) []string {
	return func(t *testing.T) (messages []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
			messages = say(t)
		})
		return messages
	}
}

// reachable is a store that a test can make unreachable.
type reachable struct {
	*leasetest.Memory
	away atomic.Bool
}

var errRefused = errors.New("dial tcp 10.0.0.5:5432: connect: connection refused")

func (r *reachable) Load(ctx context.Context) (map[int]lease.Record, error) {
	if r.away.Load() {
		return nil, errRefused
	}
	return r.Memory.Load(ctx)
}

func (r *reachable) CompareAndSwap(ctx context.Context, worker int, old, next lease.Record) (bool, error) {
	if r.away.Load() {
		return false, errRefused
	}
	return r.Memory.CompareAndSwap(ctx, worker, old, next)
}

// said is a handler that records the level and text of logged messages, without their
// attributes.
type said struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

func newSaid() *said { return &said{Handler: slog.DiscardHandler} }

func (s *said) Enabled(context.Context, slog.Level) bool { return true }

func (s *said) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s *said) WithGroup(string) slog.Handler { return s }

func (s *said) Handle(_ context.Context, r slog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, r.Level.String()+" "+r.Message)
	return nil
}

// alarms returns the warnings and errors, and the messages that end them.
func (s *said) alarms() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.text), func(m string) bool {
		return strings.HasPrefix(m, "INFO lease: worker ")
	})
}

// leased returns a generator of worker 3 of the store, which has issued an ID, and the log of
// its lease.
func leased(t *testing.T, store lease.Store, opts ...lease.Option) (*snowflake.Generator, *said) {
	t.Helper()
	log := newSaid()
	opts = append([]lease.Option{lease.WithLogger(slog.New(log)), lease.WithWorker(3)}, opts...)
	l, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	gen := fixed(t, l)
	if _, err := gen.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	return gen, log
}

// fixed returns a generator of the source.
func fixed(t *testing.T, source snowflake.WorkerSource, opts ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return gen
}

// say returns the texts of errors, and fails the test if an error is nil.
func say(t *testing.T, errs ...error) []string {
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

func sayOutage(t *testing.T) []string {
	store := &reachable{Memory: leasetest.NewMemory()}
	gen, log := leased(t, store)
	time.Sleep(25 * time.Second)
	store.away.Store(true)
	time.Sleep(60 * time.Second)
	_, tried := gen.TryNext()
	db := plugintest.Dry(t, gormflake.New(gen))
	type Order struct{ gormflake.Model }
	errs := say(t, db.Create(&Order{}).Error, tried)
	if err := gen.Health(); !errors.Is(err, snowflake.ErrFenced) {
		t.Errorf("health = %v, want ErrFenced", err)
	}
	store.away.Store(false)
	time.Sleep(time.Second)
	return append(errs, log.alarms()...)
}

func sayNoFreeWorker(t *testing.T) []string {
	store := leasetest.NewMemory()
	leased(t, store)
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithWorker(3))
	return say(t, err)
}

func saySetBack(t *testing.T) []string {
	store := leasetest.NewMemory()
	gen, _ := leased(t, store)
	if err := gen.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	hourBack := func() time.Time { return time.Now().Add(-time.Hour) }
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithWorker(3), lease.WithClock(hourBack))
	return say(t, err)
}

func sayLost(t *testing.T) []string {
	store := leasetest.NewMemory()
	gen, log := leased(t, store)
	rob(store, time.Minute)
	time.Sleep(70 * time.Second)
	_, err := gen.Next(t.Context())
	return append(say(t, err), log.alarms()[0])
}

// rob leases worker 3 to another process, with a bound that is later by the duration
// later.
func rob(store *leasetest.Memory, later time.Duration) {
	bound := store.Records()[3].Bound + later.Milliseconds()
	store.Put(3, lease.Record{Bound: bound, Owner: "web-2/1/ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
}

func sayForgotten(t *testing.T, taken bool) []string {
	store := leasetest.NewMemory()
	gen, log := leased(t, store)
	old := store.Records()[3]
	time.Sleep(25 * time.Second)
	store.Put(3, old)
	if taken {
		rob(store, time.Second)
	}
	time.Sleep(20 * time.Second)
	if s := gen.Source().(*lease.Lease).Stats(); s.Regressions != 1 {
		t.Errorf("%d regressions, want 1", s.Regressions)
	}
	return log.alarms()[:1]
}

func sayShortSettling(t *testing.T) []string {
	_, log := leased(t, leasetest.NewMemory(), lease.WithSettle(time.Second))
	return log.alarms()
}

func sayAbsurdClock(t *testing.T) []string {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	gen, _ := leased(t, leasetest.NewMemory(), lease.WithClock(clock))
	ahead.Store(int64(365 * 24 * time.Hour))
	time.Sleep(25 * time.Second)
	return say(t, gen.Source().(*lease.Lease).Stats().Failure)
}

func sayFarAhead(t *testing.T) []string {
	store := leasetest.WithTime(leasetest.NewMemory(), time.Now)
	in2050 := func() time.Time { return time.Now().AddDate(24, 0, 0) }
	_, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), lease.WithClock(in2050))
	return say(t, err)
}

func sayLead(t *testing.T) []string {
	var ahead atomic.Int64
	gen, log := leased(t, leasetest.NewMemory(), lease.WithClock(func() time.Time {
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

func sayOtherLayout(t *testing.T) []string {
	store := leasetest.NewMemory()
	leased(t, store)
	_, err := lease.Acquire(t.Context(), store, snowflake.JSSafeLayout())
	return say(t, err)
}

// ownLayout returns a layout that no other generator of this process has, so that its
// fixed workers are free, even if the test runs again.
func ownLayout() snowflake.Option {
	layout := snowflake.TwitterLayout()
	layout.Epoch = time.UnixMilli(1577836800000 + layouts.Add(1)*3_600_000)
	return snowflake.WithLayout(layout)
}

var layouts atomic.Int64

func sayFixedClock(t *testing.T) []string {
	var offset atomic.Int64
	gen := fixed(t, snowflake.Static(0, 3), ownLayout(), snowflake.WithClock(func() time.Time {
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
	return say(t, step(-time.Hour), step(365*24*time.Hour))
}

func sayBeforeEpoch(t *testing.T) []string {
	_, err := snowflake.New(snowflake.Static(0, 3), snowflake.WithClock(func() time.Time { return time.Unix(0, 0) }))
	return say(t, err)
}

func sayExpired(t *testing.T) []string {
	late := func() time.Time { return time.Date(2080, 8, 1, 0, 0, 0, 0, time.UTC) }
	_, err := snowflake.New(snowflake.Static(0, 3), snowflake.WithClock(late))
	return say(t, err)
}

func sayFullTick(t *testing.T) []string {
	gen := fixed(t, snowflake.Static(0, 3), ownLayout())
	var err error
	for err == nil {
		_, err = gen.TryNext() // time does not advance in a bubble that is busy
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return say(t, err, gen.Fill(ctx, make([]types.ID, 100_000)))
}

func sayInUse(t *testing.T) []string {
	layout := ownLayout()
	fixed(t, snowflake.Static(0, 3), layout)
	_, err := snowflake.New(snowflake.Static(0, 3), layout)
	return say(t, err)
}

func sayNoNumber(t *testing.T) []string {
	t.Setenv("SNOWFLAKE_DATACENTER_ID", "0")
	t.Setenv("SNOWFLAKE_WORKER_ID", "") // restores the variable after the test
	if err := os.Unsetenv("SNOWFLAKE_WORKER_ID"); err != nil {
		t.Fatal(err)
	}
	_, err := snowflake.New(snowflake.FromEnv())
	return say(t, err)
}

func sayClosed(t *testing.T) []string {
	gen := fixed(t, snowflake.Static(0, 3), ownLayout())
	if err := gen.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := gen.Next(t.Context())
	return say(t, err)
}

func sayUnsetKey(t *testing.T) []string {
	plugin := plugintest.NewPlugin(t)
	messages := say(t, createTagged(plugintest.Dry(t, nil), nil), createTagged(plugintest.Dry(t, plugin), map[string]any{"id": "0"}))
	type Order struct{ ID types.ID }
	db := plugintest.Dry(t, plugin)
	messages = append(messages, say(t, db.Create(&Order{}).Error)...)
	err := db.Callback().Create().Before("gorm:create").Register("reset", func(db *gorm.DB) { db.Statement.SetColumn("ID", 0) })
	if err != nil {
		t.Fatal(err)
	}
	return append(messages, say(t, createTagged(db, nil))...)
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

func sayJSON(t *testing.T) []string {
	var id types.ID
	return say(t, json.Unmarshal([]byte("2.1209e18"), &id), json.Unmarshal([]byte("9223372036854775808"), &id))
}

func sayVolatile(t *testing.T) []string {
	return say(t, acquireFrom(t, "?_pragma=synchronous(off)"))
}

func sayBrokenTable(t *testing.T) []string {
	const create = "CREATE TABLE snowflake_workers (namespace TEXT NOT NULL, worker_id INTEGER NOT NULL, bound BIGINT, owner TEXT)"
	return say(t, acquireFrom(t, "", create))
}

// acquireFrom returns the error of a lease from a new file.
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
