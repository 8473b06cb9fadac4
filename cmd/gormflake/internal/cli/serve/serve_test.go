package serve_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
)

// A syncBuffer is a buffer that several goroutines may use. After each write it calls
// onWrite, if it is set, with the whole text.
type syncBuffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	onWrite func(text string)
}

func (l *syncBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(p)
	if l.onWrite != nil {
		l.onWrite(l.text.String())
	}
	return n, err
}

func (l *syncBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveBriefly runs serve until it listens.
func serveBriefly(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return serveWhile(t, func(string) {}, args...)
}

// serveWhile runs serve until it listens and fn has returned.
func serveWhile(t *testing.T, fn func(url string), args ...string) clitest.Outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err syncBuffer
	out := syncBuffer{onWrite: func(text string) {
		if url, ok := strings.CutPrefix(text, "listening on "); ok && strings.HasSuffix(url, "\n") {
			fn(strings.TrimSpace(url))
			cancel()
		}
	}}
	code := cli.Main(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return clitest.Outcome{Code: code, Out: out.String(), Err: err.String()}
}

// A mistake ends the service at once with one line, before it listens.
func TestServeMistakes(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"port in use", []string{"--addr", taken.Addr().String()}, clitest.Failed, "address already in use"},
		{"foreign address", []string{"--addr", "192.0.2.1:0"}, clitest.Failed, "cannot assign requested address"},
		{"no port", []string{"--addr", "localhost"}, clitest.Usage, `--addr "localhost": address localhost: missing port in address: want host:port, such as 127.0.0.1:8080`},
		{"no such host", []string{"--addr", "no-such-host.invalid:0"}, clitest.Failed, "no-such-host.invalid"},
		{"high port", []string{"--addr", "127.0.0.1:65536"}, clitest.Usage, "invalid port: want host:port"},
		{"no token file", []string{"--token-file", filepath.Join(folder, "none")}, clitest.Failed, "--token-file: open "},
		{"empty token file", []string{"--token-file", file("empty", "\n")}, clitest.Usage, "is empty: want a token"},
		{"short token", []string{"--token-file", file("short", "secret\n")}, clitest.Usage, "a token of 6 characters: want at least 16"},
		{"token in two lines", []string{"--token-file", file("lines", "0123456789\n0123456789\n")}, clitest.Usage, "the token has a blank"},
		{"count of zero", []string{"--max-count", "0"}, clitest.Usage, "--max-count 0: want more than zero"},
		{"high count", []string{"--max-count", "1000001"}, clitest.Usage, "limit of 1000001 IDs for a request: want 1 to 1000000"},
		{"no size", []string{"--max-memory", "much"}, clitest.Usage, `--max-memory "much": want a size such as 256MiB`},
		{"little memory", []string{"--max-memory", "1MiB"}, clitest.Usage, "memory of 1048576 bytes: want at least 33554432"},
		{"format of the log", []string{"--log-format", "xml"}, clitest.Usage, `--log-format "xml": want text or json`},
		{"certificate without a key", []string{"--tls-cert", file("cert", "x")}, clitest.Usage, "--tls-cert and --tls-key: want both, or none"},
		{"no certificate", []string{"--tls-cert", file("cert", "x"), "--tls-key", file("key", "y")}, clitest.Failed, "failed to find any PEM data"},
		{"no time", []string{"--timeout", "0s"}, clitest.Usage, "--timeout 0s: want more than zero"},
		{"no time to end", []string{"--shutdown-timeout", "-1s"}, clitest.Usage, "--shutdown-timeout -1s: want more than zero"},
		{"origin", []string{"--allow-origin", "app.example.com"}, clitest.Usage, `origin "app.example.com": want one such as https://app.example.com`},
		{"worker", []string{"--addr", "127.0.0.1:0", "--worker", "32"}, clitest.Usage, "worker 32 out of range [0, 31]"},
		{"layout", []string{"--layout", "nobody's"}, clitest.Usage, `--layout "nobody's"`},
		{"database unknown", []string{"--addr", "127.0.0.1:0", "--dsn", "oracle://x"}, clitest.Usage, `unknown scheme "oracle"`},
		{"no such file", []string{"--addr", "127.0.0.1:0", "--dsn", "sqlite://" + filepath.Join(folder, "none.db")}, clitest.Failed, "there is no file"},
		{"operand", []string{"8080"}, clitest.Usage, "8080"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := serveBriefly(t, append([]string{"serve"}, test.args...)...)
			clitest.WantOutcome(t, got, test.code, "", test.want)
			if strings.Count(got.Err, "\n") != 1 || !strings.HasPrefix(got.Err, "gormflake: ") {
				t.Errorf("standard error is not one line of gormflake:\n%s", got.Err)
			}
		})
	}
}

// An empty GORMFLAKE_TOKEN is an error, because it would open the service to everybody.
// With a token, an address for other machines needs no warning.
func TestServeTokenVariable(t *testing.T) {
	t.Setenv("GORMFLAKE_TOKEN", "")
	clitest.WantOutcome(t, serveBriefly(t, "serve", "--addr", "127.0.0.1:0"), clitest.Usage, "", "$GORMFLAKE_TOKEN is empty: want a token")
	t.Setenv("GORMFLAKE_TOKEN", "0123456789abcdef")
	if got := serveBriefly(t, "serve", "--addr", ":0"); got.Code != clitest.OK || strings.Contains(got.Err, "WARN") {
		t.Errorf("with a token: %+v", got)
	}
}

// Without a token, the service warns if other machines can reach its address.
func TestServeWarnsWithoutAToken(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{":0": true, "0.0.0.0:0": true, "127.0.0.1:0": false, "localhost:0": false} {
		got := serveBriefly(t, "serve", "--addr", address)
		if warned := strings.Contains(got.Err, "other machines can reach this address"); got.Code != clitest.OK || warned != want {
			t.Errorf("%s: code %d, warned %v, want %v:\n%s", address, got.Code, warned, want, got.Err)
		}
	}
}

// The service rejects foreign host names, so that a web page cannot reach it through a domain
// that resolves to this machine.
func TestServeForeignHost(t *testing.T) {
	t.Parallel()
	got := serveWhile(t, func(base string) {
		for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "localhost": http.StatusOK, "": http.StatusOK} {
			r, err := http.NewRequest(http.MethodGet, base+"/v1/layout", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Host = host
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("host %q: %d, want %d", host, response.StatusCode, want)
			}
		}
	}, "serve", "--addr", "127.0.0.1:0")
	clitest.WantOutcome(t, got, clitest.OK, "listening on", "none are issued")
}

// SIGTERM before the first lease is not an error, even if the database does not answer.
func TestServeEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	got := clitest.CommandWith(ctx, strings.NewReader(""), "serve", "--addr", "127.0.0.1:0", "--dsn", "postgres://app@"+silent.Addr().String()+"/app?sslmode=disable")
	clitest.WantOutcome(t, got, clitest.OK, "", "ended before a worker was leased")
}

// The service uses the layout that the database stores, for its IDs and in its answers.
func TestServeLayoutOfDatabase(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	clitest.Open(t, url)
	clitest.Printed(t, clitest.Command(t, "gen", "--layout", "js-safe", "--dsn", url))
	got := serveWhile(t, func(base string) {
		response, err := http.Get(base + "/v1/layout")
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(text), `"epoch":"2020-01-01T00:00:00.000Z","tick_ms":10,`) {
			t.Errorf("GET /v1/layout: %v, %s", err, text)
		}
	}, "serve", "--addr", "127.0.0.1:0", "--dsn", url)
	clitest.WantOutcome(t, got, clitest.OK, "listening on", "IDs are issued under")
}

// The examples of the help work as printed, except for the address, which may be in use.
func TestServeExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Open(t, "sqlite://app.db")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range clitest.Examples(t, []string{"serve"}) {
		for i, arg := range args {
			switch {
			case strings.HasPrefix(arg, "postgres://"):
				args[i] = testdb.URL(t, testdb.Postgres)
			case arg == "/run/secrets/token":
				args[i] = token
			}
		}
		got := serveBriefly(t, append(args, "--addr", "127.0.0.1:0")...)
		clitest.WantOutcome(t, got, clitest.OK, "listening on http://127.0.0.1:", "IDs are issued under ")
	}
}
