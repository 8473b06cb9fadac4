package load_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/load"
)

func TestSaturate(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		load.Trivial().ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, count := range []int{1, 10_000} {
		before, start := served.Load(), time.Now()
		rate, err := load.Saturate(t.Context(), load.Target{URL: server.URL, Count: count}, 4, 100*time.Millisecond)
		took, n := time.Since(start).Seconds(), float64(served.Load()-before)
		if err != nil || n < 4 || rate < n/took || rate > n/0.1 {
			t.Errorf("count %d: %.0f/s, %v, with %v requests in %.3f s", count, rate, err, n, took)
		}
	}
}

// A service that stops for a while delays every request that arrives meanwhile,
// not only those that it was working on.
func TestArriveCountsWaiting(t *testing.T) {
	t.Parallel()
	const pause = 300 * time.Millisecond
	var served atomic.Int64
	trivial := load.Trivial()
	begun := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		time.Sleep(pause - time.Since(begun))
		trivial.ServeHTTP(w, r)
	}))
	defer server.Close()
	begun = time.Now()
	got, err := load.Arrive(t.Context(), load.Target{URL: server.URL, Count: 1}, 2, 100, time.Second)
	if err != nil || len(got) != 100 || served.Load() != 100 {
		t.Fatalf("%d latencies, %d served, %v, want 100", len(got), served.Load(), err)
	}
	// 30 of 100 arrive during the pause, on two connections.
	if q := got.Quantile(0.85); q < pause/10 {
		t.Errorf("the 85th percentile is %v, want at least %v", q, pause/10)
	}
	if got.Quantile(0.5) > got.Quantile(0.99) || got.Quantile(1) != got[99] {
		t.Errorf("quantiles do not rise: %v", got)
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ids":["1"]}`)) }))
	defer short.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	for _, url := range []string{short.URL, missing.URL, "http://127.0.0.1:1", ":"} {
		target := load.Target{URL: url, Count: 2}
		if _, err := load.Saturate(context.Background(), target, 1, time.Second); err == nil {
			t.Errorf("%s: Saturate finds no error", url)
		}
		if _, err := load.Arrive(context.Background(), target, 1, 10, time.Second/10); err == nil {
			t.Errorf("%s: Arrive finds no error", url)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		load.Trivial().ServeHTTP(w, r)
	}))
	defer server.Close()
	if _, err := load.Saturate(t.Context(), load.Target{URL: server.URL, Count: 1, Token: "secret"}, 1, time.Millisecond); err != nil {
		t.Error(err)
	}
}
