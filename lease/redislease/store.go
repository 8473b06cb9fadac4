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
	}
}

type store struct {
	client redis.UniversalClient
	key    string
	log    *slog.Logger
	err    error // of New

	checked    atomic.Bool // the server's settings
	warnOnce   sync.Once   // that it may forget
	unseenOnce sync.Once   // that nobody can see whether
}

var (
	_ lease.Store = (*store)(nil)
	_ lease.Clock = (*store)(nil)
)

// Load is a script that writes, though nothing ever is in a field without a
// name: go-redis sends it to the master then, however the client is configured,
// and a replica refuses it.
const load = `
redis.call('HDEL', KEYS[1], '')
return redis.call('HGETALL', KEYS[1])`

// The client sends a script once, but its hooks, or a proxy, may repeat one that
// has been run. Its second run finds what the first has written, and answers -1.
const compareAndSwap = `
local current = redis.call('HGET', KEYS[1], ARGV[1]) or '0|'
if current == ARGV[2] then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	return 1
end
return current == ARGV[3] and -1 or 0`

// clock writes nothing, as load does, to be answered by the master.
const clock = `
redis.call('HDEL', KEYS[1], '')
return redis.call('TIME')`

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	// After a failover another server answers, and it is asked again.
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	reply, err := s.run(ctx, load)
	if err != nil {
		return nil, fmt.Errorf("redislease: load: %w", err)
	}
	return decodeAll(reply)
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if err := remote.CheckRecords("redislease", worker, from, to); err != nil {
		return false, err
	}
	if !s.checked.Load() {
		if err := s.check(ctx); err != nil {
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
// records.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	if s.err != nil {
		return time.Time{}, s.err
	}
	reply, err := s.run(ctx, clock)
	if refused(err) {
		return time.Time{}, fmt.Errorf("redislease: ask the server for its time: %w: want a user who is allowed TIME", err)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("redislease: ask the server for its time: %w", err)
	}
	return decodeTime(reply)
}

func (s *store) run(ctx context.Context, script string, args ...any) (any, error) {
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
