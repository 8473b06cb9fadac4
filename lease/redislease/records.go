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

// refuseReplica is the start of every script. It ends the script with an error if INFO shows
// that the server is a replica. A replica that accepts writes (replica-read-only no) answers
// like an independent server, but clients of its primary never see these writes. go-redis
// closes a connection after an error that begins with READONLY, so that the next connection
// may lead to the primary.
const refuseReplica = `
local replication = redis.pcall('INFO', 'replication')
if type(replication) == 'string' and string.find(replication, 'role:slave', 1, true) then
	return redis.error_reply('READONLY the server is a replica (role:slave), which shares no lease with its primary, whatever replica-read-only is: want the address of the primary')
end`

// readScript reads the fields that its arguments name, or all fields if it has no arguments. It
// returns a list of field, value, field, value and so on, and at its end the server's run ID
// and time, in microseconds since 1970.
//
// The name of a field is the number of a worker. Because of the HDEL, readScript is a script
// that writes, although it changes nothing, because the field "" never exists. go-redis
// therefore sends the script to the master with every configuration of the client, and a
// replica refuses the script.
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

// swapScript replaces the value of a field, a worker's record, if it is the old value. Its
// arguments are the field, the old value and the new value; "0|" is the text of an absent
// record. It returns 1 if it has written, 0 if the record differs from the old value, and -1
// if the record already has its new value. The client sends a script once, but a hook of
// the client or a proxy may repeat a script that has been run. The second run then finds
// the value that the first run has written.
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

// Get implements [lease.Getter]. It returns the records of these keys, or all records if there
// are no keys, and the server's time. If the server's settings were not checked lately, Get
// checks them before it returns, so that no worker is leased from a server that evicts keys.
func (s *store) Get(ctx context.Context, keys []int) (map[int]lease.Record, time.Time, error) {
	a, err := s.read(ctx, keys...)
	if err == nil && s.stale(a.server) {
		if err = s.ensureChecked(ctx, a.server); err == nil {
			a, err = s.read(ctx, keys...) // again, because the check took time and the answer is old
		}
	}
	return a.records, a.now, err
}

// CompareAndSwap replaces the worker's record by the argument to, if the record equals the
// argument from. It returns true if the server has acknowledged the write, and false if the
// worker has another record. After an error, the write may have happened: see [lease.Store]. If no call has
// checked the server's settings yet, CompareAndSwap checks them first. Swap of
// [stores.Server] formats both records as text.
func (s *store) CompareAndSwap(ctx context.Context, worker int, from, to lease.Record) (bool, error) {
	if s.lastCheck.Load() == nil {
		if err := s.ensureChecked(ctx, ""); err != nil { // no server has shown its run ID yet
			return false, err
		}
	}
	return s.Swap(ctx, worker, from, to, func(ctx context.Context, from, to string) (bool, error) {
		reply, err := s.write(ctx, worker, from, to)
		if reply == -1 { // the record is the new one already, perhaps by a first run of swapScript
			err = stores.ErrPresent
		}
		return reply == 1, err
	})
}

// Now returns the time of the server that keeps the records. If the settings were not checked
// lately, Now starts the check in the background, unless a check is running. A lease calls Now
// before it extends its window, and the check must neither delay nor prevent the extension.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	a, err := s.read(ctx, -1) // the layout's record, because the answer contains the time
	if err == nil && s.stale(a.server) && s.checkMu.TryLock() {
		go func() {
			defer s.checkMu.Unlock()
			// The check may take longer than this call, after which the caller ends ctx.
			_ = s.ensureCheckedLocked(context.WithoutCancel(ctx), a.server)
		}()
	}
	return a.now, err
}

// read reads the records of these keys by readScript, or all records if there are no keys.
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
	server  string // run ID of the server; "" if INFO does not show it
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

// maxSync is how long WAITAOF waits until the server has a write on its disk.
const maxSync = time.Second

// write runs swapScript with args, which are the field, the old value and the new value, and
// returns the reply of the script. If the server supports the command WAITAOF, write then
// waits until the new value is on the server's disk. It returns an error if the value is not
// on the disk after maxSync. WAITAOF only works on the connection that has sent the script, so
// write uses it only with a client of a single server, or of a master watched by sentinels.
func (s *store) write(ctx context.Context, args ...any) (int64, error) {
	client, _ := s.client.(*redis.Client)
	last, _ := s.lastSettings.Load("") // the key of a single server; see checkServers
	if current, _ := last.(settings); client == nil || !current.waits {
		return s.run(ctx, swapScript, args...).Int64()
	}
	swap, waitAOF := s.eval(ctx, swapScript, args...), redis.NewIntSliceCmd(ctx, "WAITAOF", 1, 0, maxSync.Milliseconds())
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // the commands hold the errors
		return errors.Join(p.Process(ctx, swap), p.Process(ctx, waitAOF))
	})
	reply, err := swap.Int64()
	// WAITAOF returns two numbers. The first is 1 if the write is on the server's own disk, and
	// otherwise 0. The second counts replicas.
	if err != nil || reply != 1 || len(waitAOF.Val()) > 0 && waitAOF.Val()[0] == 1 { // not written, or on the disk
		return reply, err
	}
	s.markStale() // because the server's settings may have changed
	return 0, fmt.Errorf("not on the server's disk: %v: want appendonly yes, appendfsync always and no-appendfsync-on-rewrite no", waitAOF)
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
