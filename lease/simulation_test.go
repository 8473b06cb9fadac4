//go:build replay

package lease_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/model"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed")
	seeds     = flag.Uint64("seeds", 1, "how many seeds; 0: until one is rejected")
	simulated = flag.Duration("simulate", 30*time.Minute, "of each seed")
	blind     = flag.Bool("blind", false, "search for duplicates only, without the model")
	processes = flag.Int("processes", 0, "of a fleet; 0: 10 to 17, by the seed")
)

// TestSimulation runs fleets, each from a number, and replays their traces in the
// model. What to type to see one again is part of each failure.
func TestSimulation(t *testing.T) {
	total := outcome{}
	for i := uint64(0); (i < *seeds || *seeds == 0) && !t.Failed(); i++ {
		seed := *firstSeed + i
		s := simulate(t, seed)
		if *seeds == 1 {
			t.Logf("trace %s: %d events of seed %d", s.hash(), len(s.events), seed)
		}
		steps, err := s.check()
		if err != nil {
			t.Errorf("seed %d: %v\ntrace %s\nto see it again: go test -tags replay -run '^TestSimulation$' ./lease -seed=%d -simulate=%v -processes=%d -v",
				seed, err, s.hash(), seed, *simulated, *processes)
		}
		total.add(s, steps)
	}
	t.Logf("%d seeds, %.0f fleet hours: %d IDs, %d events, %d steps of the model",
		total.seeds, float64(total.seeds)*simulated.Hours(), total.ids, total.events, total.steps)
}

type outcome struct{ seeds, ids, events, steps int }

func (o *outcome) add(s *simulation, steps int) {
	o.seeds++
	o.ids += s.issued
	o.events += len(s.events)
	o.steps += steps
	if o.seeds%500 == 0 {
		fmt.Println(o.seeds, "seeds")
	}
}

// TestSeedRepeats runs seeds twice. About one in a hundred gives two traces: where two
// goroutines of a lease are woken at one instant, the runtime chooses which is first.
func TestSeedRepeats(t *testing.T) {
	n, other := max(*seeds/4, 3), uint64(0)
	for i := range n {
		seed := *firstSeed + i
		if a, b := simulate(t, seed), simulate(t, seed); a.hash() != b.hash() {
			other++
			t.Logf("seed %d: traces %s and %s%s", seed, a.hash(), b.hash(), a.difference(b))
		}
	}
	if other > 1+n/20 {
		t.Errorf("%d of %d seeds gave two traces", other, n)
	}
}

func (s *simulation) difference(other *simulation) string {
	theirs := other.lines()
	for i, line := range s.lines() {
		if i >= len(theirs) || line != theirs[i] {
			return fmt.Sprintf(": the first has %s", line)
		}
	}
	return ""
}

// lines are the events. Those of one instant are sorted, as two goroutines of a process
// that are woken by one may write theirs in either order.
func (s *simulation) lines() []string {
	events := slices.Clone(s.events)
	slices.SortFunc(events, func(a, b model.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.String(), b.String()))
	})
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = e.String()
	}
	return lines
}

func (s *simulation) hash() string {
	sum := sha256.Sum256([]byte(strings.Join(s.lines(), "\n")))
	return hex.EncodeToString(sum[:16])
}

// check replays the trace, and reports what the processes found without the model.
func (s *simulation) check() (steps int, err error) {
	r := model.NewReplay()
	if !*blind {
		err = r.Check(s.events)
	}
	for _, what := range s.wrong {
		err = errors.Join(err, errors.New(what))
	}
	return r.Steps, err
}

func simulate(t *testing.T, seed uint64) *simulation {
	var s *simulation
	synctest.Test(t, func(*testing.T) {
		s = &simulation{
			start: time.Now(), until: time.Now().Add(*simulated), world: newStream(seed, 1, 0, 0),
			visible: map[int]lease.Record{}, tokens: map[string]int{}, layouts: map[string]int64{}, ids: map[types.ID]bool{},
		}
		var wg sync.WaitGroup
		for process := range fleet(seed) {
			wg.Go(func() {
				first := newStream(seed, 2, process, 0)
				time.Sleep(first.upTo(10 * time.Second))
				for life := 0; time.Now().Before(s.until); life++ {
					s.live(seed, process, life)
					time.Sleep(first.upTo(20 * time.Second))
				}
			})
		}
		wg.Go(s.disturb)
		wg.Wait()
	})
	return s
}

// fleet is how many processes there are, for sixteen workers.
func fleet(seed uint64) int {
	if *processes > 0 {
		return *processes
	}
	return 10 + int(seed%8)
}

func (s *simulation) disturb() {
	for time.Now().Before(s.until) {
		time.Sleep(s.world.upTo(time.Minute))
		if s.world.oneIn(3) {
			s.operate()
		} else {
			s.crash()
		}
	}
}

// A life is one process, from Acquire to its end.
type life struct {
	*client
	own    *stream
	window time.Duration
	clock  *skew
	layout snowflake.Layout
}

func (s *simulation) live(seed uint64, process, number int) {
	own := newStream(seed, 3, process, number)
	l := &life{
		client: &client{simulation: s, process: process, faults: newStream(seed, 4, process, number)},
		own:    own, clock: new(skew), window: 30*time.Second + 10*time.Second*time.Duration(own.n(4)),
		layout: snowflake.Layout{Epoch: time.UnixMilli(631152000000).UTC(), Tick: simulatedTick, WorkerBits: 4, SequenceBits: 12},
	}
	if own.oneIn(50) {
		l.layout.SequenceBits = 11 // refused, where it does not come first
	}
	l.clock.set(own.upTo(4*time.Second) - 2*time.Second)
	defer l.die()
	got, err := lease.Acquire(context.Background(), l.client, l.layout, l.options(newStream(seed, 5, process, number))...)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.lease = got
	l.mu.Unlock()
	gen, err := snowflake.New(got, l.way()...)
	if err != nil {
		_ = got.Release(context.Background())
		return
	}
	l.issue(gen)
	l.end(gen)
}

func (l *life) options(random *stream) []lease.Option {
	opts := []lease.Option{lease.WithClock(l.clock.now), lease.WithLogger(discard()), lease.WithWindow(l.window), lease.WithRandom(random.n)}
	if l.own.oneIn(3) {
		opts = append(opts, lease.WithMaxAhead(2*l.window))
	}
	if l.own.oneIn(10) {
		opts = append(opts, lease.WithSettle(l.window))
	}
	return opts
}

func (l *life) way() []snowflake.Option {
	opts := []snowflake.Option{snowflake.WithSequenceStart(snowflake.StartZero)}
	switch l.own.n(4) {
	case 0:
		return append(opts, snowflake.WithLogicalTime())
	case 1:
		return append(opts, snowflake.WithLag(l.window/2))
	}
	return append(opts, snowflake.OnClockBackwards(snowflake.Tolerate(time.Hour)))
}

// issue takes an ID every few seconds, pauses, and steps its clock.
func (l *life) issue(gen *snowflake.Generator) {
	last := model.Event{}
	for range 1 + l.own.n(200) {
		time.Sleep(l.own.upTo(5 * time.Second))
		switch {
		case l.own.oneIn(100):
			time.Sleep(l.own.upTo(3 * l.window))
		case l.own.oneIn(50):
			l.clock.set(l.own.upTo(2*l.window) - l.window)
		}
		if time.Now().After(l.until) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.own.upTo(10*time.Second))
		before := l.lease.Stats()
		id, err := gen.Next(ctx)
		cancel()
		if err == nil {
			l.note(id, before, &last)
		}
	}
}

func (l *life) note(id types.ID, before lease.Stats, last *model.Event) {
	after := l.lease.Stats()
	e := model.Event{Kind: model.Issued, Process: l.process, Worker: key(l.layout, id)}
	l.mu.Lock()
	e.Tick = l.tickOf(l.layout.Time(id).UnixMilli())
	l.issued++
	if l.ids[id] {
		l.wrong = append(l.wrong, fmt.Sprintf("ID %d was issued twice", id))
	}
	if at := key(l.layout, id); before.Losses+before.Regressions == after.Losses+after.Regressions && int64(at) != after.Worker {
		l.wrong = append(l.wrong, fmt.Sprintf("ID %d is of worker %d after its loss was known, and the lease holds %d", id, at, after.Worker))
	}
	l.ids[id] = true
	l.mu.Unlock()
	if e.Worker == last.Worker && e.Tick == last.Tick {
		return
	}
	*last = e
	l.holds()
	l.mu.Lock()
	l.emit(e)
	l.mu.Unlock()
}

// end closes the generator, or does not, or is killed while it does.
func (l *life) end(gen *snowflake.Generator) {
	killed := l.own.oneIn(3)
	ctx, cancel := context.WithTimeout(context.Background(), l.own.upTo(20*time.Second))
	defer cancel()
	if killed {
		l.die()
	}
	_ = gen.Close(ctx)
}
