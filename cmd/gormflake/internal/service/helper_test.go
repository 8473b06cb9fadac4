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

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// workersGiven counts the calls of freeWorker.
var workersGiven atomic.Int64

// freeWorker returns a fixed worker, at each call another one, because a process must not have
// two generators for one worker. The layout has 32 datacenters with 32 workers each, so the
// first worker is returned again after 1,024 calls.
func freeWorker() snowflake.WorkerSource {
	n := workersGiven.Add(1) % 1024
	return snowflake.Static(n/32, n%32)
}

// fixedGenerator returns a generator with a fixed worker that no other test uses.
func fixedGenerator(t testing.TB) *snowflake.Generator {
	t.Helper()
	return generator(t, freeWorker())
}

// generator returns a generator that issues IDs under the workers of src.
func generator(t testing.TB, src snowflake.WorkerSource) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return gen
}

// validConfig returns a configuration with the default limits of the command.
func validConfig() service.Config {
	return service.Config{Layout: snowflake.TwitterLayout(), Log: quietLog(), MaxCount: 10_000, MaxMemory: 256 << 20, Timeout: 5 * time.Second}
}

// open returns a service that issues IDs of gen and has the layout of gen. If gen is nil, the
// service only reads IDs, of the Twitter layout. It accepts the hosts example.com, to which
// requests of httptest go, and x.
func open(t testing.TB, gen *snowflake.Generator, change ...func(*service.Config)) http.Handler {
	t.Helper()
	cfg := validConfig()
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

// ask sends a request without a body. headers are pairs of name and value.
func ask(handler http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// get sends a GET request. headers are pairs of name and value.
func get(handler http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	return ask(handler, http.MethodGet, target, headers...)
}

// body returns the text of an answer without the line break at its end.
func body(t testing.TB, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// expect checks the status, the whole body and its content type.
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

// await fails the test if the condition does not become true within a minute.
func await(t testing.TB, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("it has not come true within a minute")
		}
	}
}
