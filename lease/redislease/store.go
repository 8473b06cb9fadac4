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

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// New returns a store on the server that client is connected to. The caller closes the
// client after the last generator.
//
// New sends no request. The first call of the store reads the settings, and fails if
// the server evicts keys. Every call fails if the client is nil, an option is invalid,
// or the client is a [redis.Ring], which moves a key to an empty server when its own
// server is down.
func New(client redis.UniversalClient, opts ...Option) lease.Store {
	cfg := config{namespace: stores.DefaultNamespace, log: slog.Default()}
	err := option.Apply("redislease", opts, func(opt Option) error { return opt.apply(&cfg) })
	if value := reflect.ValueOf(client); client == nil || value.Kind() == reflect.Pointer && value.IsNil() {
		err = errors.Join(err, errors.New("redislease: client is nil"))
	}
	if _, ok := client.(*redis.Ring); ok {
		err = errors.Join(err, errors.New("redislease: a redis.Ring forgets the workers of a server that is down: "+
			"want a client of one server, of sentinels or of a cluster"))
	}
	return &store{
		Server: stores.Server{Package: "redislease", Err: err},
		Turns:  stores.NewTurns(),
		client: client,
		key:    "gormflake:{" + cfg.namespace + "}", // the braces put the key into one slot of a cluster
		log:    cfg.log,
	}
}

// maxSync is how long the server may take to have a write on its disk.
const maxSync = time.Second

type store struct {
	stores.Server
	stores.Turns
	client redis.UniversalClient
	key    string
	log    *slog.Logger

	lookMu sync.Mutex             // held while the settings are read
	looked atomic.Pointer[looked] // nil if the settings were never read
	seen   sync.Map               // the last settings, by the server's address
}

var (
	_ lease.Store   = (*store)(nil)
	_ lease.Clock   = (*store)(nil)
	_ lease.Getter  = (*store)(nil)
	_ lease.Queue   = (*store)(nil)
	_ lease.Checker = (*store)(nil)
)

// refuseReplica is the start of every script. A replica that accepts writes
// (replica-read-only no) answers like an independent server, but clients of its primary
// never see these writes. The client closes a connection after READONLY, so that the
// next connection may lead to the primary.
const refuseReplica = `
local replication = redis.pcall('INFO', 'replication')
if type(replication) == 'string' and string.find(replication, 'role:slave', 1, true) then
	return redis.error_reply('READONLY the server is a replica (role:slave), which shares no lease with its primary, whatever replica-read-only is: want the address of the primary')
end`

// read returns the given fields, or all fields. The HDEL, of a field that never exists,
// makes it a script that writes. go-redis therefore sends it to the master with every
// configuration of the client, and a replica refuses it.
const read = refuseReplica + `
redis.call('HDEL', KEYS[1], '')
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
local answer = ARGV[1] and {} or redis.call('HGETALL', KEYS[1])
for _, field in ipairs(ARGV) do
	local record = redis.call('HGET', KEYS[1], field)
	if record then
		table.insert(answer, field)
		table.insert(answer, record)
	end
end
local time = redis.call('TIME')
table.insert(answer, server)
table.insert(answer, string.format('%d%06d', time[1], time[2]))
return answer`

// compareAndSwap returns -1 if the record already has its new value. The client sends a
// script once, but a hook of the client or a proxy may repeat a script that has been
// run. The second run then finds the value of the first.
const compareAndSwap = refuseReplica + `
local current = redis.call('HGET', KEYS[1], ARGV[1]) or '0|'
if current == ARGV[2] then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	return 1
end
return current == ARGV[3] and -1 or 0`

// Load implements [lease.Store].
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, _, err := s.Get(ctx, nil)
	return records, err
}

// Get implements [lease.Getter]. Without keys it returns all records.
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	a, err := s.read(ctx, keys...)
	if err == nil && s.stale(a.server) {
		if err = s.check(ctx, a.server); err == nil {
			a, err = s.read(ctx, keys...) // again, because the time has passed
		}
	}
	return a.records, a.now, err
}

// CompareAndSwap implements [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if s.looked.Load() == nil {
		if err := s.check(ctx, ""); err != nil {
			return false, err
		}
	}
	return s.Swap(ctx, worker, from, to, func(ctx context.Context, from, to string) (bool, error) {
		reply, err := s.write(ctx, worker, from, to)
		if reply == -1 {
			err = stores.ErrPresent
		}
		return reply == 1, err
	})
}

// Now implements [lease.Clock]. It returns the time of the server that keeps the
// records. A lease calls it before it extends its window, so Now reads stale settings
// in the background, and their result does not prevent the extension.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	a, err := s.read(ctx, -1)
	if err == nil && s.stale(a.server) && s.lookMu.TryLock() {
		go func() {
			defer s.lookMu.Unlock()
			_ = s.refresh(context.WithoutCancel(ctx), a.server)
		}()
	}
	return a.now, err
}

func (s *store) read(ctx context.Context, keys ...int) (answer, error) {
	return stores.Call(ctx, s.Server, "read", func(ctx context.Context) (answer, error) {
		fields := make([]any, len(keys))
		for i, key := range keys {
			fields[i] = key
		}
		reply, err := s.run(ctx, read, fields...).StringSlice()
		if refused(err) {
			err = fmt.Errorf("%w: want a user who is allowed EVAL, HGET, HSET, HDEL, HGETALL, TIME and INFO on the key %s", err, s.key)
		}
		if err != nil {
			return answer{}, err
		}
		return decode(reply)
	})
}

func (s *store) run(ctx context.Context, script string, args ...any) once {
	command := s.eval(ctx, script, args...)
	_ = s.client.Process(ctx, command) // the command holds the error
	return command
}

// write swaps a record and, if the server supports WAITAOF, waits until the write is on
// the server's disk.
func (s *store) write(ctx context.Context, args ...any) (int64, error) {
	client, _ := s.client.(*redis.Client)
	seen, _ := s.seen.Load("")
	if now, _ := seen.(settings); client == nil || !now.waits {
		return s.run(ctx, compareAndSwap, args...).Int64()
	}
	swap, sync := s.eval(ctx, compareAndSwap, args...), redis.NewIntSliceCmd(ctx, "WAITAOF", 1, 0, maxSync.Milliseconds())
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // WAITAOF waits for the writes of its connection
		return errors.Join(p.Process(ctx, swap), p.Process(ctx, sync))
	})
	reply, err := swap.Int64()
	if err != nil || reply != 1 || len(sync.Val()) > 0 && sync.Val()[0] == 1 {
		return reply, err
	}
	s.doubt() // because a setting may have changed
	return 0, fmt.Errorf("not on the server's disk: %v: want appendonly yes, appendfsync always and no-appendfsync-on-rewrite no", sync)
}

func (s *store) eval(ctx context.Context, script string, args ...any) once {
	return once{redis.NewCmd(ctx, append([]any{"EVAL", script, 1, s.key}, args...)...)}
}

// once is a command that the client does not send again after an error. A repeated
// compare-and-swap would be answered for the second try only, while the first may have
// been carried out or may still be.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// An Option changes a default of [New]. An invalid argument makes every call of the
// store fail.
type Option interface{ apply(*config) error }

type config struct {
	namespace string
	log       *slog.Logger
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithNamespace separates the workers of several applications on one server. Stores
// share their workers if, and only if, they share the server, the database number and
// the namespace. It has 1 to 64 letters, digits, dots, hyphens and underscores, the
// first of which is a letter or digit; case counts. The default is "default".
func WithNamespace(name string) Option {
	return optionFunc(func(c *config) error {
		c.namespace = name
		return stores.CheckNamespace("redislease", name)
	})
}

// WithLogger sets the logger for warnings about a server that may forget writes. The
// store logs them once, and again after its settings have changed. The default is
// [slog.Default].
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		c.log = log
		return option.Check(log != nil, "redislease: WithLogger(nil): want a logger")
	})
}

// An answer is the result of the script read.
type answer struct {
	server  string // run ID of the server; "" if the user may not read it
	now     time.Time
	records map[int]lease.Record
}

// decode parses the reply of the script read: pairs of field and value, followed by the
// server and its time.
func decode(reply []string) (a answer, err error) {
	end := len(reply) - 2
	if end < 0 || end%2 != 0 {
		return a, fmt.Errorf("reply %q: want fields and values, server and time", reply)
	}
	micros, err := strconv.ParseInt(reply[end+1], 10, 64)
	if err != nil {
		return a, fmt.Errorf("time %q: want microseconds since 1970", reply[end+1])
	}
	a = answer{reply[end], time.UnixMicro(micros), make(map[int]lease.Record, end/2)}
	for i := 0; i < end && err == nil; i += 2 {
		err = stores.Add(a.records, reply[i], reply[i+1])
	}
	return a, err
}
