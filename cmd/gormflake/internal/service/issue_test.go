package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// ids returns the IDs of an answer, and fails the test if the answer is a problem.
func ids(t testing.TB, w *httptest.ResponseRecorder) []types.ID {
	t.Helper()
	var answer struct {
		IDs []types.ID `json:"ids"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v, body %.200s", w.Code, err, w.Body)
	}
	return answer.IDs
}

// A client gets as many IDs as it asks for, in ascending order over all requests. 4097 IDs
// are more than a tick has sequence numbers, and more than a pooled block has.
func TestIssue(t *testing.T) {
	t.Parallel()
	gen := fixedGenerator(t)
	handler := open(t, gen)
	var last types.ID
	for _, test := range []struct {
		query string
		want  int
	}{
		{"", 1},
		{"?", 1},
		{"?count=1", 1},
		{"?count=2", 2},
		{"?count=4097", 4097},
		{"?count=10000", 10_000},
		{"?&count=3&", 3},
		{"?c%6Funt=%35", 5},
		{"?count=1", 1},
	} {
		got := ids(t, get(handler, "/v1/ids"+test.query))
		if len(got) != test.want {
			t.Errorf("%q: %d IDs, want %d", test.query, len(got), test.want)
		}
		for _, id := range got {
			if id <= last {
				t.Fatalf("%q: %d after %d", test.query, id, last)
			}
			last = id
		}
	}
	if parts := gen.Layout().Decompose(last); time.Since(parts.Time).Abs() > time.Minute {
		t.Errorf("the last ID is of %v", parts.Time)
	}
}

// A client gets an ID on each line if it accepts text and not JSON, as a shell script does.
// All other clients get JSON.
func TestIssueLines(t *testing.T) {
	t.Parallel()
	handler := open(t, fixedGenerator(t))
	for accept, lines := range map[string]bool{
		"text/plain": true, "text/plain; charset=utf-8, */*;q=0.1": true, "text/plain, application/json": false,
		"*/*": false, "text/html,application/xhtml+xml,*/*;q=0.8": false, "": false,
	} {
		for _, count := range []int{1, 3, 4097} {
			w := get(handler, fmt.Sprintf("/v1/ids?count=%d", count), "Accept", accept)
			if got := regexp.MustCompile(`^(\d{15,19}\n)+$`).MatchString(w.Body.String()); got != lines {
				t.Errorf("Accept %q: lines %t, want %t: %.80q", accept, got, lines, w.Body)
			}
			if n := len(regexp.MustCompile(`\d{15,19}`).FindAllString(w.Body.String(), -1)); n != count || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
				t.Errorf("Accept %q: %d IDs, want %d, Content-Length %s of %d bytes", accept, n, count, w.Header().Get("Content-Length"), w.Body.Len())
			}
		}
	}
}

// The body and the headers of the answer are exactly these, because clients depend on them.
func TestIssueGolden(t *testing.T) {
	t.Parallel()
	w := get(open(t, fixedGenerator(t)), "/v1/ids?count=2")
	text := regexp.MustCompile(`\d{15,19}`).ReplaceAllString(w.Body.String(), "N")
	if want := `{"ids":["N","N"]}` + "\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Content-Length": fmt.Sprint(w.Body.Len()), "Cross-Origin-Resource-Policy": "same-origin",
		"Access-Control-Allow-Origin": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The service rejects a count that is not a plain decimal number in the range, and a
// misspelled or repeated parameter, instead of issuing one ID by default.
func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	handler := open(t, fixedGenerator(t), func(c *service.Config) { c.MaxCount = 100 })
	count := func(text string) string {
		return fmt.Sprintf(`{"title":"Bad Request","status":400,"detail":"count=%s: want a whole number from 1 to 100"}`, text)
	}
	for _, test := range []struct{ query, want string }{
		{"count=0", count(`\"0\"`)},
		{"count=101", count(`\"101\"`)},
		{"count=-1", count(`\"-1\"`)},
		{"count=%2B1", count(`\"+1\"`)},
		{"count=", count(`\"\"`)},
		{"count", count(`\"\"`)},
		{"count=1e2", count(`\"1e2\"`)},
		{"count=0x10", count(`\"0x10\"`)},
		{"count=01", count(`\"01\"`)},
		{"count=many", count(`\"many\"`)},
		{"count=99999999999999999999", count(`\"99999999999999999999\"`)},
		{"count=9223372036854775807", count(`\"9223372036854775807\"`)},
		{"count=1;count=2", count(`\"1;count=2\"`)},
		{"n=5", `{"title":"Bad Request","status":400,"detail":"unknown parameter \"n\": want count"}`},
		{"Count=5", `{"title":"Bad Request","status":400,"detail":"unknown parameter \"Count\": want count"}`},
		{"count=1&n=5", `{"title":"Bad Request","status":400,"detail":"unknown parameter \"n\": want count"}`},
		{"count=1&count=1", `{"title":"Bad Request","status":400,"detail":"count is given twice: want it once"}`},
		{"count=%zz", `{"title":"Bad Request","status":400,"detail":"the query has a % that is not followed by two hexadecimal digits, in \"count=%zz\""}`},
	} {
		w := get(handler, "/v1/ids?"+test.query)
		expect(t, w, http.StatusBadRequest, test.want)
	}
	if n := len(ids(t, get(handler, "/v1/ids?count=100"))); n != 100 {
		t.Errorf("%d IDs, want 100", n)
	}
}

// A rejected request and a HEAD request use no sequence number.
func TestRefusedUsesNothing(t *testing.T) {
	t.Parallel()
	gen := fixedGenerator(t)
	handler := open(t, gen, func(c *service.Config) { c.Token = "0123456789abcdef" })
	auth := []string{"Authorization", "Bearer 0123456789abcdef"}
	for _, w := range []*httptest.ResponseRecorder{
		get(handler, "/v1/ids"), get(handler, "/v1/ids?count=0", auth...), ask(handler, http.MethodHead, "/v1/ids", auth...),
		ask(handler, http.MethodPost, "/v1/ids", auth...), get(handler, "/v1/ids", append(auth, "Sec-Fetch-Site", "cross-site")...),
		get(handler, "/v1/ids/1", auth...), get(handler, "/metrics", auth...), get(handler, "/healthz"),
	} {
		if w.Code == http.StatusInternalServerError {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	}
	if n := gen.Stats().Issued; n != 0 {
		t.Errorf("%d IDs issued, want 0", n)
	}
	if ids(t, get(handler, "/v1/ids", auth...)); gen.Stats().Issued != 1 {
		t.Errorf("%d IDs issued, want 1", gen.Stats().Issued)
	}
}

// Clients that ask at the same time must not get the same ID, although requests share pooled
// memory for their IDs.
func TestConcurrentRequestsShareNoID(t *testing.T) {
	t.Parallel()
	handler := open(t, fixedGenerator(t))
	var mu sync.Mutex
	var all []types.ID
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for n := range 50 {
				got := ids(t, get(handler, fmt.Sprintf("/v1/ids?count=%d", 1+(client*n)%300)))
				mu.Lock()
				all = append(all, got...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d of %d IDs are duplicates", len(all)-n, len(all))
	}
}

// A server that only reads IDs says so, and is healthy.
func TestNoGenerator(t *testing.T) {
	t.Parallel()
	handler := open(t, nil)
	expect(t, get(handler, "/v1/ids"), http.StatusNotFound, `{"title":"Not Found","status":404,"detail":"this server issues no IDs: start it with --dsn or --worker"}`)
	expect(t, get(handler, "/healthz"), http.StatusOK, `{"status":"ok"}`)
}

// A source is a source of workers that grants one worker. After a call of end, the generator
// asks the source for another grant by Extend. Extend calls the field extend, which fails or
// blocks, as a store does that is down.
type source struct {
	extend func(context.Context) error
	grant  *snowflake.Grant
}

func (*source) Layout() snowflake.Layout { return snowflake.TwitterLayout() }
func (*source) Clock() func() time.Time  { return nil }

// Grant grants worker 1 of datacenter 0.
func (s *source) Grant(_ context.Context, l snowflake.Layout) (grant *snowflake.Grant, err error) {
	s.grant, err = snowflake.NewGrant(l, 0, 1, time.Now().Add(-time.Second), time.Now().Add(time.Hour))
	return s.grant, err
}

// end ends the window of the grant, as a lease does that has lost its worker.
func (s *source) end() { s.grant.Revoke() }

// Extend calls extend, and grants nothing.
func (s *source) Extend(ctx context.Context, _ *snowflake.Grant, _ time.Time) (*snowflake.Grant, error) {
	return nil, s.extend(ctx)
}

func (*source) Retire(context.Context, *snowflake.Grant, time.Time) error { return nil }

// generatorWithoutWindow returns a generator whose window has ended, and which calls extend for
// another.
func generatorWithoutWindow(t *testing.T, extend func(context.Context) error) *snowflake.Generator {
	t.Helper()
	src := &source{extend: extend}
	gen := generator(t, src)
	src.end()
	return gen
}

// If the generator issues no ID, the client learns the reason in a sentence, but not the
// text of the store's error, here secret-host, because it may contain hosts, users and
// databases. A client is told to retry unless the layout has expired.
func TestWhatTheGeneratorRefuses(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	fail := func(err error) func(context.Context) error {
		return func(context.Context) error { return fmt.Errorf("secret-host: %w", err) }
	}
	for _, test := range []struct {
		name, want string
		retry      string // the header Retry-After
		extend     func(context.Context) error
	}{
		{"hangs", `{"title":"Service Unavailable","status":503,"detail":"no ID could be had within 100ms"}`, "1", hang},
		{"clock", `{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the clock of the server has been set back"}`, "1", fail(snowflake.ErrClockBackwards)},
		{"expired", `{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the layout has expired at 2080-07-10T17:30:30.209Z"}`, "", fail(snowflake.ErrExpired)},
		{"closed", `{"title":"Service Unavailable","status":503,"detail":"the server is shutting down"}`, "1", fail(snowflake.ErrClosed)},
		{"other", `{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the log of the server says why"}`, "1", fail(errors.New("unforeseen"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gen := generatorWithoutWindow(t, test.extend)
			w := get(open(t, gen, func(c *service.Config) { c.Timeout = 100 * time.Millisecond }), "/v1/ids")
			expect(t, w, http.StatusServiceUnavailable, test.want)
			if got := w.Header().Get("Retry-After"); got != test.retry {
				t.Errorf("Retry-After %q, want %q", got, test.retry)
			}
		})
	}
}

// A request after the generator was closed, as it happens while the process ends, gets 503
// with the reason.
func TestClosed(t *testing.T) {
	t.Parallel()
	gen := fixedGenerator(t)
	handler := open(t, gen)
	gen.Close(t.Context())
	expect(t, get(handler, "/v1/ids"), http.StatusServiceUnavailable, `{"title":"Service Unavailable","status":503,"detail":"the server is shutting down"}`)
}

// The service writes no answer for a client that has disconnected while it waits for an
// ID, and counts the request under 499.
func TestClientHasGone(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	gen := generatorWithoutWindow(t, hang)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/ids", nil)
	w := httptest.NewRecorder()
	time.AfterFunc(10*time.Millisecond, cancel)
	open(t, gen).ServeHTTP(w, r)
	if w.Body.Len() > 0 || w.Code != 499 {
		t.Errorf("answered %d, %s, want 499 for the metrics, and no text", w.Code, w.Body)
	}
}

// leasedGenerator returns a generator whose worker is leased in the store.
func leasedGenerator(t *testing.T, store lease.Store, opts ...lease.Option) *snowflake.Generator {
	t.Helper()
	l, err := lease.Acquire(t.Context(), store, snowflake.TwitterLayout(), append(opts, lease.WithLogger(quietLog()))...)
	if err != nil {
		t.Fatal(err)
	}
	return generator(t, l)
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// expectWithoutTimes replaces each time in the answer by T, and checks the answer.
func expectWithoutTimes(t *testing.T, w *httptest.ResponseRecorder, status int, want string) {
	t.Helper()
	w.Body = bufferOf(times.ReplaceAllString(w.Body.String(), "T"))
	expect(t, w, status, want)
}

// While the store is down for longer than the window, health and /v1/ids fail with the
// reason, and recover without a restart when the store is back.
func TestFenced(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	gen := leasedGenerator(t, store, lease.WithWindow(150*time.Millisecond))
	handler := open(t, gen, func(c *service.Config) { c.Store = store })
	var w *httptest.ResponseRecorder
	await(t, func() bool { w = get(handler, "/healthz"); return w.Code == http.StatusOK })
	expectWithoutTimes(t, w, http.StatusOK, `{"status":"ok","until":"T"}`)

	store.Down()
	await(t, func() bool { return get(handler, "/healthz").Code == http.StatusServiceUnavailable })
	await(t, func() bool { return gen.Source().(*lease.Lease).Stats().Failure != nil })
	w = get(handler, "/healthz")
	if w.Header().Get("Retry-After") != "1" {
		t.Errorf("headers %v, want Retry-After", w.Header())
	}
	expectWithoutTimes(t, w, http.StatusServiceUnavailable,
		`{"status":"fenced","since":"T","detail":"the window of the worker ended at T, and could not be extended since T; the log of the server says why"}`)
	expectWithoutTimes(t, get(handler, "/v1/ids"), http.StatusServiceUnavailable,
		`{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the window of the worker ended at T, and could not be extended since T; the log of the server says why"}`)
	expect(t, get(handler, "/v1/workers"), http.StatusServiceUnavailable,
		`{"title":"Service Unavailable","status":503,"detail":"the database cannot be read: the log of the server says why"}`)

	store.Up()
	await(t, func() bool { return get(handler, "/healthz").Code == http.StatusOK })
	await(t, func() bool { return get(handler, "/v1/ids").Code == http.StatusOK })
}

// If the store fails before the window ends, the probe still succeeds, and reports since when
// the store fails.
func TestHealthWithinTheWindow(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	gen := leasedGenerator(t, store, lease.WithWindow(10*time.Second))
	store.Down()
	await(t, func() bool { return !gen.Source().(*lease.Lease).Stats().FailingSince.IsZero() })
	expectWithoutTimes(t, get(open(t, gen), "/healthz"), http.StatusOK, `{"status":"ok","until":"T","failing_since":"T"}`)
}

// Another process takes worker 3, and the lease may have no other worker. The reason for
// clients must be that no worker is free. It must not blame the database, which works.
func TestFencedForWantOfAWorker(t *testing.T) {
	t.Parallel()
	store := leasetest.NewMemory()
	gen := leasedGenerator(t, store, lease.WithWorker(3), lease.WithWindow(150*time.Millisecond))
	store.Put(3, lease.Record{Bound: time.Now().Add(time.Hour).UnixMilli(), Owner: "robber"})
	handler := open(t, gen)
	await(t, func() bool { return get(handler, "/healthz").Code == http.StatusServiceUnavailable })
	expectWithoutTimes(t, get(handler, "/v1/ids"), http.StatusServiceUnavailable,
		`{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the window of the worker ended at T, and no worker is free"}`)
}

// If the clock is set wrong, or the generator is closed, the probe fails with the reason
// that clients of /v1/ids get.
func TestHealthOfTheGenerator(t *testing.T) {
	t.Parallel()
	var offset atomic.Int64 // of the generator's clock, in nanoseconds
	clock := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	gen, err := snowflake.New(freeWorker(), snowflake.WithClock(clock), snowflake.OnClockBackwards(snowflake.Fail()))
	if err != nil {
		t.Fatal(err)
	}
	handler := open(t, gen)
	if _, err := gen.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, get(handler, "/healthz"), http.StatusOK, `{"status":"ok"}`)
	offset.Store(int64(-time.Hour))
	expect(t, get(handler, "/healthz"), http.StatusServiceUnavailable,
		`{"status":"clock","detail":"the clock of the server has been set back"}`)
	expect(t, get(handler, "/v1/ids"), http.StatusServiceUnavailable,
		`{"title":"Service Unavailable","status":503,"detail":"no IDs can be issued: the clock of the server has been set back"}`)
	offset.Store(int64(1000 * time.Hour))
	expect(t, get(handler, "/healthz"), http.StatusServiceUnavailable,
		`{"status":"clock","detail":"the clock of the server has jumped ahead"}`)
	gen.Close(context.Background())
	expect(t, get(handler, "/healthz"), http.StatusServiceUnavailable,
		`{"status":"closed","detail":"the server is shutting down"}`)
	expect(t, get(handler, "/v1/ids"), http.StatusServiceUnavailable, `{"title":"Service Unavailable","status":503,"detail":"the server is shutting down"}`)
}
