package cli_test

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

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
	"github.com/gormflake/gormflake/internal/testdb"
)

// A locked buffer takes what several goroutines write, and calls saw with all
// of it.
type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
	saw  func(text string)
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(p)
	if l.saw != nil {
		l.saw(l.text.String())
	}
	return n, err
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveBriefly runs serve until it listens.
func serveBriefly(t *testing.T, args ...string) outcome {
	t.Helper()
	return serveWhile(t, func(string) {}, args...)
}

// serveWhile runs serve until it listens and fn has returned.
func serveWhile(t *testing.T, fn func(url string), args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err locked
	out := locked{saw: func(text string) {
		if url, ok := strings.CutPrefix(text, "listening on "); ok && strings.HasSuffix(url, "\n") {
			fn(strings.TrimSpace(url))
			cancel()
		}
	}}
	code := cli.Main(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return outcome{code, out.String(), err.String()}
}

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
		{"port in use", []string{"--addr", taken.Addr().String()}, failed, "address already in use"},
		{"foreign address", []string{"--addr", "192.0.2.1:0"}, failed, "cannot assign requested address"},
		{"no port", []string{"--addr", "localhost"}, usage, `--addr "localhost": address localhost: missing port in address; want host:port, such as 127.0.0.1:8080`},
		{"no such host", []string{"--addr", "no-such-host.invalid:0"}, failed, "no-such-host.invalid"},
		{"high port", []string{"--addr", "127.0.0.1:65536"}, usage, "invalid port; want host:port"},
		{"no token file", []string{"--token-file", filepath.Join(folder, "none")}, failed, "--token-file: open "},
		{"empty token file", []string{"--token-file", file("empty", "\n")}, usage, "is empty: want a token"},
		{"short token", []string{"--token-file", file("short", "secret\n")}, usage, "a token of 6 characters, want at least 16"},
		{"token in two lines", []string{"--token-file", file("lines", "0123456789\n0123456789\n")}, usage, "the token has a blank"},
		{"count of zero", []string{"--max-count", "0"}, usage, "--max-count 0: want more than zero"},
		{"high count", []string{"--max-count", "1000001"}, usage, "limit of 1000001 IDs for a request, want 1 to 1000000"},
		{"no time", []string{"--timeout", "0s"}, usage, "--timeout 0s: want more than zero"},
		{"no time to end", []string{"--shutdown-timeout", "-1s"}, usage, "--shutdown-timeout -1s: want more than zero"},
		{"origin", []string{"--allow-origin", "app.example.com"}, usage, `origin "app.example.com", want one such as https://app.example.com`},
		{"worker", []string{"--addr", "127.0.0.1:0", "--worker", "32"}, usage, "worker 32 out of range [0, 31]"},
		{"layout", []string{"--layout", "nobody's"}, usage, `--layout "nobody's"`},
		{"database down", []string{"--addr", "127.0.0.1:0", "--dsn", "postgres://nobody@127.0.0.1:1/none"}, failed, "database does not answer: "},
		{"database unknown", []string{"--addr", "127.0.0.1:0", "--dsn", "oracle://x"}, usage, `unknown scheme "oracle"`},
		{"no such file", []string{"--addr", "127.0.0.1:0", "--dsn", "sqlite://" + filepath.Join(folder, "none.db")}, failed, "there is no file"},
		{"operand", []string{"8080"}, usage, "8080"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := serveBriefly(t, append([]string{"serve"}, test.args...)...)
			wantOutcome(t, got, test.code, "", test.want)
			if strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "gormflake: ") {
				t.Errorf("standard error is not one line of gormflake:\n%s", got.err)
			}
		})
	}
}

func TestServeTokenVariable(t *testing.T) {
	t.Setenv("GORMFLAKE_TOKEN", "")
	wantOutcome(t, serveBriefly(t, "serve", "--addr", "127.0.0.1:0"), usage, "", "$GORMFLAKE_TOKEN is empty: want a token")
	t.Setenv("GORMFLAKE_TOKEN", "0123456789abcdef")
	if got := serveBriefly(t, "serve", "--addr", ":0"); got.code != ok || strings.Contains(got.err, "WARN") {
		t.Errorf("with a token: %+v", got)
	}
}

func TestServeWarnsWithoutAToken(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{":0": true, "0.0.0.0:0": true, "127.0.0.1:0": false, "localhost:0": false} {
		got := serveBriefly(t, "serve", "--addr", address)
		if warned := strings.Contains(got.err, "other machines can reach this address"); got.code != ok || warned != want {
			t.Errorf("%s: code %d, warned %v, want %v:\n%s", address, got.code, warned, want, got.err)
		}
	}
}

// A web page cannot get at a service of this machine by a name of its own.
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
	wantOutcome(t, got, ok, "listening on", "none are issued")
}

// The layout that the database has is that of the IDs, and of all that is told
// about them.
func TestServeLayoutOfDatabase(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t, testdb.SQLite)
	open(t, url)
	printed(t, command(t, "gen", "--layout", "js-safe", "--dsn", url))
	got := serveWhile(t, func(base string) {
		response, err := http.Get(base + "/v1/layout")
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(text), `"epoch":"2020-01-01T00:00:00.000Z","tickMilliseconds":10,`) {
			t.Errorf("GET /v1/layout: %v, %s", err, text)
		}
	}, "serve", "--addr", "127.0.0.1:0", "--dsn", url)
	wantOutcome(t, got, ok, "listening on", "IDs are issued under")
}

// The examples of the help work as they stand there, but for the address, which
// may be in use.
func TestServeExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	open(t, "sqlite://app.db")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range examples(t, []string{"serve"}) {
		for i, arg := range args {
			switch {
			case strings.HasPrefix(arg, "postgres://"):
				args[i] = testdb.URL(t, testdb.Postgres)
			case arg == "/run/secrets/token":
				args[i] = token
			}
		}
		got := serveBriefly(t, append(args, "--addr", "127.0.0.1:0")...)
		wantOutcome(t, got, ok, "listening on http://127.0.0.1:", "IDs are issued under ")
	}
}
