package redislease_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// starters start the servers on which the store is tested.
var starters = map[string]func(testing.TB, ...string) *testserver.Server{"Redis": testserver.Redis, "Valkey": testserver.Valkey}

// onEach runs the test on each kind of server.
func onEach(t *testing.T, test func(t *testing.T, start func(testing.TB, ...string) *testserver.Server)) {
	for name, start := range starters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}

// durable are the settings under which a server forgets no acknowledged write in a crash.
var durable = []string{"--appendonly yes", "--appendfsync always"}

// connect returns a separate client. change may adjust its options.
func connect(t *testing.T, url string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(options)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// clientOf returns a client of the server.
func clientOf(t *testing.T, server *testserver.Server) *redis.Client {
	t.Helper()
	return connect(t, server.URL())
}

// do sends a command, which must succeed.
func do(t *testing.T, client redis.UniversalClient, args ...any) any {
	t.Helper()
	reply, err := client.Do(context.Background(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// slowConfig delays commands that read a server's settings.
type slowConfig struct{ redis.Hook }

// slowness is how long slowConfig delays a command.
const slowness = 300 * time.Millisecond

func (slowConfig) DialHook(next redis.DialHook) redis.DialHook { return next }

func (slowConfig) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook delays the command CONFIG.
func (slowConfig) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "config" {
			time.Sleep(slowness)
		}
		return next(ctx, cmd)
	}
}

// heldConfig holds commands that read a server's settings until release is closed.
type heldConfig struct {
	slowConfig
	release chan struct{}
}

// ProcessHook holds the command CONFIG.
func (h heldConfig) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "config" {
			<-h.release
		}
		return next(ctx, cmd)
	}
}

// journal is a logger whose text can be read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// matches returns how often the text matches the pattern.
func (j *journal) matches(pattern string) int {
	return len(regexp.MustCompile(pattern).FindAllString(j.String(), -1))
}

// callsOf returns how often the server has received this command.
func callsOf(t *testing.T, client redis.UniversalClient, command string) (calls int) {
	t.Helper()
	_, rest, _ := strings.Cut(fmt.Sprint(do(t, client, "INFO", "commandstats")), "cmdstat_"+command+":calls=")
	_, _ = fmt.Sscan(strings.ReplaceAll(rest, ",", " "), &calls)
	return calls
}

// eventually waits until done returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30s: %s", what)
		}
	}
}
