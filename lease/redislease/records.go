package redislease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
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

// readScript returns the given fields, or all fields, and then the server's run ID and
// time. The HDEL, of a field that never exists, makes it a script that writes. go-redis
// therefore sends it to the master with every configuration of the client, and a replica
// refuses it.
const readScript = refuseReplica + `
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

// swapScript returns 1 if it has written, 0 if the record differs from the old value, and
// -1 if the record already has its new value. The client sends a script once, but a hook of
// the client or a proxy may repeat a script that has been run. The second run then finds
// the value of the first.
const swapScript = refuseReplica + `
local current = redis.call('HGET', KEYS[1], ARGV[1]) or '0|'
if current == ARGV[2] then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	return 1
end
return current == ARGV[3] and -1 or 0`

// Load returns all records of the namespace.
func (s *store) Load(ctx context.Context) (map[int]lease.Record, error) {
	records, _, err := s.Get(ctx, nil)
	return records, err
}

// Get returns the records of these keys, or all records if there are no keys, and the
// server's time. It makes the store a [lease.Getter]. If the settings are stale, it checks
// them first, so that no worker is leased from a server that evicts keys.
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	a, err := s.read(ctx, keys...)
	if err == nil && s.stale(a.server) {
		if err = s.check(ctx, a.server); err == nil {
			a, err = s.read(ctx, keys...) // again, because the time has passed
		}
	}
	return a.records, a.now, err
}

// CompareAndSwap replaces the record of the worker by to if it equals from, and reports
// whether the server has acknowledged that. After an error, the write may have happened:
// see [lease.Store].
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if s.lastCheck.Load() == nil {
		if err := s.check(ctx, ""); err != nil { // no server has shown its run ID yet
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

// Now returns the time of the server that keeps the records. A lease calls it before it
// extends its window, so Now reads stale settings in the background, and their result does
// not prevent the extension.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	a, err := s.read(ctx, -1)
	if err == nil && s.stale(a.server) && s.checkMu.TryLock() {
		go func() {
			defer s.checkMu.Unlock()
			_ = s.refresh(context.WithoutCancel(ctx), a.server)
		}()
	}
	return a.now, err
}

// read runs readScript for the keys, or for all keys if the list is empty. Now reads the
// key -1 only because the answer contains the time.
func (s *store) read(ctx context.Context, keys ...int) (answer, error) {
	return stores.Call(ctx, s.Server, "read", func(ctx context.Context) (answer, error) {
		fields := make([]any, len(keys))
		for i, key := range keys {
			fields[i] = key
		}
		reply, err := s.run(ctx, readScript, fields...).StringSlice()
		if refused(err) {
			err = fmt.Errorf("%w: want a user who is allowed EVAL, HGET, HSET, HDEL, HGETALL, TIME and INFO on the key %s", err, s.key)
		}
		if err != nil {
			return answer{}, err
		}
		return decode(reply)
	})
}

// An answer is the result of readScript.
type answer struct {
	server  string // run ID of the server; "" if the user may not read it
	now     time.Time
	records map[int]lease.Record
}

// decode parses the reply of readScript: pairs of field and value, followed by the
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

// maxSync is how long the server may take to have a write on its disk.
const maxSync = time.Second

// write swaps a record and, if the server supports WAITAOF, waits until the write is on the
// server's disk. It sends both commands over one connection, so it needs a client of one
// server, or of a master watched by sentinels. It returns the reply of swapScript.
func (s *store) write(ctx context.Context, args ...any) (int64, error) {
	client, _ := s.client.(*redis.Client)
	last, _ := s.lastSettings.Load("") // the settings of the only server; see checkServers
	if current, _ := last.(settings); client == nil || !current.waits {
		return s.run(ctx, swapScript, args...).Int64()
	}
	swap, sync := s.eval(ctx, swapScript, args...), redis.NewIntSliceCmd(ctx, "WAITAOF", 1, 0, maxSync.Milliseconds())
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // WAITAOF waits for the writes of its connection
		return errors.Join(p.Process(ctx, swap), p.Process(ctx, sync))
	})
	reply, err := swap.Int64()
	// WAITAOF returns on how many disks the write is, first on the server's own, 0 or 1.
	if err != nil || reply != 1 || len(sync.Val()) > 0 && sync.Val()[0] == 1 {
		return reply, err
	}
	s.doubt() // because a setting may have changed
	return 0, fmt.Errorf("not on the server's disk: %v: want appendonly yes, appendfsync always and no-appendfsync-on-rewrite no", sync)
}

// run sends the script to the server and returns the command with its reply.
func (s *store) run(ctx context.Context, script string, args ...any) unrepeated {
	command := s.eval(ctx, script, args...)
	_ = s.client.Process(ctx, command) // the command holds the error
	return command
}

// eval returns the command that runs the script on the store's key.
func (s *store) eval(ctx context.Context, script string, args ...any) unrepeated {
	return unrepeated{redis.NewCmd(ctx, append([]any{"EVAL", script, 1, s.key}, args...)...)}
}

// unrepeated is a command that the client does not send again after an error. If it did,
// the caller would only get the answer to the second try, while the first try may have
// written or may still write.
type unrepeated struct{ *redis.Cmd }

// NoRetry tells go-redis not to send the command again.
func (unrepeated) NoRetry() bool { return true }
