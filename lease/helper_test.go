package lease_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// layout returns a layout with four workers, keys 0 to 3, so that a test can use them
// up. Its epoch is before the time at which a bubble of testing/synctest begins.
func layout() snowflake.Layout {
	return snowflake.Layout{
		Epoch: time.UnixMilli(631152000000).UTC(), Tick: time.Millisecond,
		DatacenterBits: 1, WorkerBits: 1, SequenceBits: 12,
	}
}

// now returns the machine's clock in Unix milliseconds.
func now() int64 { return time.Now().UnixMilli() }

// acquire leases a worker of layout, and releases it at the end of the test.
func acquire(t *testing.T, store lease.Store, opts ...lease.Option) *lease.Lease {
	t.Helper()
	l, err := lease.Acquire(t.Context(), store, layout(), append([]lease.Option{lease.WithLogger(discard())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Release(context.Background()) })
	return l
}

// generate creates a generator under the lease, and closes it at the end of the test.
func generate(t *testing.T, l *lease.Lease, opts ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(l, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gen.Close(context.Background()) })
	return gen
}

// next returns an ID and the key of its worker.
func next(t *testing.T, gen *snowflake.Generator) (types.ID, int) {
	t.Helper()
	id, err := gen.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id, key(gen.Layout(), id)
}

// key returns the key of the worker that issued the ID, as in the store.
func key(l snowflake.Layout, id types.ID) int {
	p := l.Decompose(id)
	return int(p.Datacenter<<l.WorkerBits | p.Worker)
}

// discard returns a logger that discards its messages.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// holdAll writes records of other holders for all four workers of the layout. Worker 0 has
// the bound, and each following worker a bound one higher.
func holdAll(store *leasetest.Memory, bound int64) {
	for worker := range 4 {
		store.Put(worker, lease.Record{Bound: bound + int64(worker), Owner: "other/" + string(rune('0'+worker))})
	}
}

// holder returns the part of a record's owner that identifies the grant:
// host/process/random.
func holder(r lease.Record) string {
	return strings.Join(strings.SplitN(r.Owner, "/", 4)[:min(3, strings.Count(r.Owner, "/")+1)], "/")
}

// isReleased reports whether the record's worker has no holder.
func isReleased(r lease.Record) bool {
	return r.Owner == "" || strings.HasSuffix(r.Owner, "/released")
}

// A skew is a clock that shows the machine's time plus an offset.
type skew struct{ offset atomic.Int64 }

func (s *skew) set(d time.Duration) { s.offset.Store(int64(d)) }

func (s *skew) now() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// A journal collects the log messages of a lease, so that a test can count them. It is not the
// journal of a move.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// count counts part in the log. It first waits until every goroutine of the bubble is
// blocked, because a goroutine that has changed the lease's state may not have logged
// it yet.
func (j *journal) count(part string) int {
	synctest.Wait()
	return strings.Count(j.String(), part)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}
