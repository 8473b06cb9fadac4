package redislease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/remote"
)

// New returns a store on the server that client is connected to. The client
// stays the caller's, who closes it after the last generator.
//
// New asks nothing of the server: the first call does, and fails if the server
// evicts keys. A nil client, a [redis.Ring] (which moves a key to an empty
// server when its own is down) and a bad option fail every call.
func New(client redis.UniversalClient, opts ...Option) lease.Store {
	cfg, err := newConfig(opts)
	if value := reflect.ValueOf(client); client == nil || value.Kind() == reflect.Pointer && value.IsNil() {
		err = errors.Join(err, errors.New("redislease: client is nil"))
	}
	if _, ok := client.(*redis.Ring); ok {
		err = errors.Join(err, errors.New("redislease: a redis.Ring forgets the workers of a server that is down: "+
			"want a client of one server, of sentinels or of a cluster"))
	}
	return &store{
		client: client,
		key:    "gormflake:{" + cfg.namespace + "}", // braces: one slot of a cluster
		log:    cfg.log,
		err:    err,
		turns:  make(chan struct{}, maxClaims),
	}
}

// maxClaims is how many claims have their turn at once: fewer than a client has
// connections by default.
const maxClaims = 16

type store struct {
	client redis.UniversalClient
	key    string
	log    *slog.Logger
	err    error // of New
	turns  chan struct{}

	lookMu sync.Mutex // held while the settings are read
	looked atomic.Pointer[look]
	seen   sync.Map // settings by address
}

var (
	_ lease.Store   = (*store)(nil)
	_ lease.Clock   = (*store)(nil)
	_ lease.Getter  = (*store)(nil)
	_ lease.Queue   = (*store)(nil)
	_ lease.Checker = (*store)(nil)
)

// read is a script that writes, though nothing ever is in a field without a
// name: go-redis sends it to the master then, however the client is configured,
// and a replica refuses it. It shows which server has answered, where the user may
// know.
const read = `
redis.call('HDEL', KEYS[1], '')
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
return {server, redis.call('TIME'), redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))}`

// The client sends a script once, but its hooks, or a proxy, may repeat one that
// has been run. Its second run finds what the first has written, and answers -1.
const compareAndSwap = `
local current = redis.call('HGET', KEYS[1], ARGV[1]) or '0|'
if current == ARGV[2] then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	return 1
end
return current == ARGV[3] and -1 or 0`

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	a, err := s.readChecked(ctx, "HGETALL")
	if err != nil {
		return nil, fmt.Errorf("redislease: load: %w", err)
	}
	return decodeAll(a.values)
}

// Get implements [lease.Getter].
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	fields := make([]any, len(keys))
	for i, key := range keys {
		fields[i] = strconv.Itoa(key)
	}
	a, err := s.readChecked(ctx, "HMGET", fields...)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("redislease: get: %w", err)
	}
	records, err := decodeAll(pairs(fields, a.values))
	return records, a.now, err
}

// Enter implements [lease.Queue].
func (s *store) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if err := remote.CheckRecords("redislease", worker, from, to); err != nil {
		return false, err
	}
	if s.looked.Load() == nil {
		if err := s.Check(ctx); err != nil {
			return false, err
		}
	}
	reply, err := s.run(ctx, compareAndSwap, strconv.Itoa(worker), remote.FormatRecord(from), remote.FormatRecord(to))
	if reply == int64(-1) {
		err = remote.ErrPresent
	}
	if err != nil {
		return false, fmt.Errorf("redislease: write worker %d: %w", worker, err)
	}
	return reply == int64(1), nil
}

// Now implements [lease.Clock]: it is the time of the server that keeps the
// records. A lease asks for it before each extension, which no setting stops.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	a, err := s.read(ctx, "HGET", "")
	if refused(err) {
		err = fmt.Errorf("%w: want a user who is allowed TIME", err)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("redislease: ask the server for its time: %w", err)
	}
	if s.stale(a.server) {
		go func() { _ = s.check(context.WithoutCancel(ctx), a.server) }()
	}
	return a.now, nil
}

// readChecked reads from a server whose settings are known.
func (s *store) readChecked(ctx context.Context, command string, fields ...any) (answer, error) {
	a, err := s.read(ctx, command, fields...)
	if err != nil || !s.stale(a.server) {
		return a, err
	}
	if err := s.check(ctx, a.server); err != nil {
		return a, err
	}
	return s.read(ctx, command, fields...) // the time has passed
}

func (s *store) read(ctx context.Context, command string, fields ...any) (answer, error) {
	reply, err := s.run(ctx, read, append([]any{command}, fields...)...)
	if err != nil {
		return answer{}, err
	}
	return decodeAnswer(reply)
}

func (s *store) run(ctx context.Context, script string, args ...any) (any, error) {
	if s.err != nil {
		return nil, s.err
	}
	return remote.Await(ctx, func() (any, error) {
		command := once{redis.NewCmd(ctx, append([]any{"EVAL", script, 1, s.key}, args...)...)}
		_ = s.client.Process(ctx, command) // the command has the error
		return command.Result()
	})
}

// once is a command that the client does not send again after an error. A
// repeated compare-and-swap would be answered for the second try alone, while
// the first may have been carried out, or may be later.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }
