package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serve"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// The service starts without its database, and issues IDs once the database is up.
func TestServeStartsBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	server.Stop()
	got := serveWhile(t, func(base string) {
		for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/healthz": 503, "/v1/ids": 503, "/": 503} {
			if code, body := get(t, base+path); code != want {
				t.Errorf("%s without the database: %d %s, want %d", path, code, body, want)
			}
		}
		if _, body := get(t, base+"/readyz"); !strings.Contains(body, `"status":"starting"`) || !strings.Contains(body, "no worker is leased yet") {
			t.Errorf("/readyz: %s, want the reason", body)
		}
		if code, body := get(t, base+"/metrics"); code != 200 || !strings.Contains(body, "\ngormflake_healthy 0\n") {
			t.Errorf("/metrics: %d %s, want one that says that no ID can be issued", code, body)
		}
		if err := server.Start(); err != nil {
			t.Error(err)
			return
		}
		code, body := 0, ""
		for began := time.Now(); code != 200 && time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
			code, body = get(t, base+"/readyz")
		}
		if code != 200 {
			t.Errorf("/readyz with the database: %d %s, want 200", code, body)
		}
		if code, body := get(t, base+"/v1/ids"); code != 200 {
			t.Errorf("/v1/ids with the database: %d %s, want 200", code, body)
		}
	}, "serve", "--addr", "127.0.0.1:0", "--dsn", server.URL())
	clitest.WantOutcome(t, got, clitest.OK, "listening on", "no worker is leased yet")
	if !strings.Contains(got.Err, "lease: worker released") {
		t.Errorf("the worker was not released:\n%s", got.Err)
	}
}

// The service answers probes even if the database accepts connections and never replies.
func TestServeStartsBesideASilentDatabase(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	got := serveWhile(t, func(base string) {
		if code, body := get(t, base+"/livez"); code != 200 {
			t.Errorf("/livez: %d %s, want 200", code, body)
		}
	}, "serve", "--addr", "127.0.0.1:0", "--dsn", "postgres://app@"+silent.Addr().String()+"/app?sslmode=disable")
	clitest.WantOutcome(t, got, clitest.OK, "listening on", "the database has not answered within 5s")
}

// A permanent error, such as a missing database, ends the service immediately.
func TestServeEndsForGood(t *testing.T) {
	t.Parallel()
	server := testserver.Postgres(t)
	url := strings.Replace(server.URL(), "/postgres", "/no_such_database", 1)
	got := serveBriefly(t, "serve", "--addr", "127.0.0.1:0", "--dsn", url)
	clitest.WantOutcome(t, got, clitest.Failed, "", "no_such_database")
}

// get returns the response to a request.
func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}

// isTransient returns true for an error that may pass without a change, after which the
// command continues without a worker. For any other error it returns false, and the command
// ends.
func TestTransientErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		lease.ErrNoFreeWorker:    true,
		snowflake.ErrFenced:      true, // this process was paused until its first window had ended
		context.DeadlineExceeded: true,
		snowflake.ErrExpired:     false,
		errors.New("unforeseen"): false,
	} {
		if got := serve.IsTransient(fmt.Errorf("open: %w", err)); got != want {
			t.Errorf("IsTransient(%v) = %t, want %t", err, got, want)
		}
	}
}
