package storetest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// healthyWindow is the window of the processes whose clocks are right. A restart of the server
// may begin a third of the window after the last extension. It then has the other two thirds,
// 20 seconds, which is enough on a busy machine.
const healthyWindow = 30 * time.Second

// A clockFleet is a set of processes that share a store. Each process may lease only one
// certain worker, and the successor of a killed process only the worker of that process.
type clockFleet struct {
	t      *testing.T
	layout snowflake.Layout // with times from 1970 to 6429, for wrong clocks
	client Client           // shared by all processes but those that are killed
	ended  chan struct{}    // closed when the processes have to end
	wg     sync.WaitGroup
	all    []*clockProcess // also those that have not been started
}

// newClockFleet returns a fleet without processes. It opens the client that most of its
// processes share.
func newClockFleet(t *testing.T, open func() Client) *clockFleet {
	t.Helper()
	return &clockFleet{
		t: t, client: open(), ended: make(chan struct{}),
		layout: snowflake.Layout{Epoch: time.UnixMilli(0), Tick: time.Millisecond, WorkerBits: 6, SequenceBits: 10},
	}
}

// add adds a process for the worker, and returns it. The process has not been started.
func (f *clockFleet) add(name string, client Client, worker int64, opts ...lease.Option) *clockProcess {
	p := &clockProcess{fleet: f, name: name, client: client, worker: worker}
	p.opts = slices.Concat(opts, []lease.Option{lease.WithWorker(worker), lease.WithLogger(p.log.logger())})
	f.all = append(f.all, p)
	return p
}

// addHealthy adds a process with the clock of the machine. Its calls must not fail.
func (f *clockFleet) addHealthy(worker int64) *clockProcess {
	return f.add("healthy", f.client, worker, lease.WithWindow(healthyWindow))
}

// stop ends all processes, and fails the test if two IDs are equal.
func (f *clockFleet) stop() {
	f.t.Helper()
	close(f.ended)
	f.wg.Wait()
	seen := map[types.ID]bool{}
	var ids, failures int
	var longest time.Duration
	for _, p := range f.all {
		for _, id := range p.ids {
			if seen[id] {
				f.t.Errorf("ID %d was issued twice", id)
			}
			seen[id] = true
		}
		ids, failures, longest = ids+len(p.ids), failures+p.failures, max(longest, p.longest)
		p.end()
	}
	f.t.Logf("%d IDs, %d errors of processes whose clocks are right, whose longest call took %v", ids, failures, longest.Round(time.Microsecond))
}

// boundAhead returns how far the worker's bound is ahead of the machine's clock.
func (f *clockFleet) boundAhead(worker int64) time.Duration {
	records, err := f.client.Store.Load(context.Background())
	if err != nil {
		f.t.Error(err)
	}
	return max(0, time.Until(time.UnixMilli(records[int(worker)].Bound)).Round(time.Millisecond))
}

// A clockProcess is a process of a clockFleet. It starts again after each failure to start.
type clockProcess struct {
	fleet  *clockFleet
	name   string
	client Client
	worker int64
	opts   []lease.Option
	ahead  atomic.Int64 // how far its clock is ahead
	log    journal
	lease  *lease.Lease         // nil before the process has acquired its worker
	gen    *snowflake.Generator // nil before it has a generator
	ids    []types.ID

	// Only the method issue counts these, in a process whose clock is right.
	failures int
	longest  time.Duration // the longest call
}

// withOwnClock gives the process a clock that p.ahead sets. The clock has no monotonic
// reading, because that reading would not jump.
func (p *clockProcess) withOwnClock() *clockProcess {
	p.opts = append(p.opts, lease.WithClock(func() time.Time {
		return time.Now().Round(0).Add(time.Duration(p.ahead.Load()))
	}))
	return p
}

// acquire leases the worker. It tries again after a timeout, because on a busy machine
// a store call may take longer than its limit under a short window.
func (p *clockProcess) acquire() (err error) {
	for began := time.Now(); time.Since(began) < clockBlock; {
		p.lease, err = lease.Acquire(context.Background(), p.client.Store, p.fleet.layout, p.opts...)
		if !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return err
}

// next issues an ID. If the process has no lease or no generator yet, it first gets one.
func (p *clockProcess) next() (err error) {
	if p.lease == nil {
		if err = p.acquire(); err != nil {
			return err
		}
	}
	if p.gen == nil {
		if p.gen, err = snowflake.New(p.lease); err != nil {
			return err
		}
	}
	id, err := p.gen.Next(context.Background())
	if err == nil {
		p.ids = append(p.ids, id)
	}
	return err
}

// end ends the process in order. Errors are ignored, because its connection may be
// closed.
func (p *clockProcess) end() {
	switch {
	case p.gen != nil:
		_ = p.gen.Close(context.Background())
	case p.lease != nil:
		_ = p.lease.Release(context.Background())
	}
}

// issue takes IDs in the background until the fleet stops. No call may fail.
func (p *clockProcess) issue() {
	p.fleet.wg.Go(func() {
		for {
			began := time.Now()
			if err := p.next(); err != nil {
				p.failures++
				p.fleet.t.Errorf("%s: %v", p.name, err)
			}
			p.longest = max(p.longest, time.Since(began))
			select {
			case <-p.fleet.ended:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
}

// retry returns how long it takes until the process issues an ID, and the last error if
// that takes longer than limit.
func (p *clockProcess) retry(limit time.Duration) (time.Duration, error) {
	began := time.Now()
	for {
		err := p.next()
		if took := time.Since(began); err == nil || took > limit {
			return took.Round(time.Millisecond), err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// keepTrying calls next again and again for d, like a service that is restarted after
// failures.
func (p *clockProcess) keepTrying(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		_ = p.next()
	}
}

// clockError matches the error of a lease that was refused because of its clock.
var clockError = regexp.MustCompile(`^lease: acquiring a worker: the clock shows (\S+Z) and the store's (\S+Z): want at most WithMaxSkew\(`)

// wantBothTimes expects the error of a process that was refused because of its clock. The
// error must name the time of the process and the time of the store. The arguments ours and
// theirs are how far these two times are ahead of the right time.
func (p *clockProcess) wantBothTimes(err error, ours, theirs time.Duration) {
	p.fleet.t.Helper()
	if err == nil {
		p.fleet.t.Errorf("%s: acquired a worker, want an error", p.name)
		return
	}
	stamps := clockError.FindStringSubmatch(err.Error())
	if stamps == nil {
		p.fleet.t.Errorf("%s: %v, want an error that names both times", p.name, err)
		return
	}
	for i, ahead := range []time.Duration{ours, theirs} {
		got, err := time.Parse(time.RFC3339, stamps[i+1])
		if off := got.Sub(time.Now().Add(ahead)); err != nil || off.Abs() > 10*time.Second {
			p.fleet.t.Errorf("%s: the error names %s, which is %v off", p.name, stamps[i+1], off)
		}
	}
}

// journal is a logger whose text can be searched.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// logger returns a logger that writes to the journal.
func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// count returns how often the text contains part.
func (j *journal) count(part string) int { return strings.Count(j.String(), part) }

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
