package service_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/snowflake"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

var numbers atomic.Int64

// fixed is a generator under a worker that no other test has.
func fixed(t testing.TB) *snowflake.Generator {
	t.Helper()
	n := numbers.Add(1)
	return generator(t, snowflake.Static(n/32, n%32))
}

func generator(t testing.TB, src snowflake.WorkerSource) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return gen
}

// valid is a configuration with the limits that the command has.
func valid() service.Config {
	return service.Config{Layout: snowflake.TwitterLayout(), Log: quiet(), MaxCount: 10_000, MaxMemory: 256 << 20, Timeout: 5 * time.Second}
}

// open is a service that issues, in the Twitter layout unless the generator has
// another.
func open(t testing.TB, gen *snowflake.Generator, change ...func(*service.Config)) http.Handler {
	t.Helper()
	cfg := valid()
	cfg.Generator, cfg.Hosts = gen, []string{"example.com", "x"}
	if gen != nil {
		cfg.Layout = gen.Layout()
	}
	for _, f := range change {
		f(&cfg)
	}
	handler, err := service.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// ask sends a request without a body; headers are names, each with its value behind it.
func ask(handler http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func get(handler http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	return ask(handler, http.MethodGet, target, headers...)
}

func body(t testing.TB, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// expect checks status, whole body, and its type.
func expect(t testing.TB, w *httptest.ResponseRecorder, status int, want string) {
	t.Helper()
	if got := body(t, w.Body); w.Code != status || got != want {
		t.Errorf("got %d %s\nwant %d %s", w.Code, got, status, want)
	}
	kind := "application/json"
	if strings.HasPrefix(want, `{"title":`) {
		kind = "application/problem+json"
	}
	if got := w.Header().Get("Content-Type"); got != kind {
		t.Errorf("Content-Type %q, want %q", got, kind)
	}
}

func bufferOf(text string) *bytes.Buffer { return bytes.NewBufferString(text) }

// await fails the test if the condition does not come true.
func await(t testing.TB, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("it has not come true within a minute")
		}
	}
}
