//go:build replay

package lease_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/model"
	"github.com/gormflake/gormflake/lease/internal/test/trace"
	"github.com/gormflake/gormflake/types"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed")
	seeds     = flag.Uint64("seeds", 1, "how many seeds; 0: until one is rejected")
	simulated = flag.Duration("simulate", 30*time.Minute, "of each seed")
	blind     = flag.Bool("blind", false, "search for duplicates only, without the model")
)

// TestSimulation runs fleets of processes that lease workers from one store, while clocks
// step, processes die, and calls are lost. The model of the protocol
// (lease/internal/test/model) must accept the trace of each fleet. A seed determines all
// random choices of a fleet, so that each failure prints the command that repeats it.
func TestSimulation(t *testing.T) {
	var ids, events, steps int
	n := uint64(0)
	for ; (n < *seeds || *seeds == 0) && !t.Failed(); n++ {
		seed := *firstSeed + n
		s := simulate(t, seed)
		taken, err := s.check()
		if *seeds == 1 || err != nil {
			t.Logf("trace %s: %d events of seed %d", s.hash(), len(s.events), seed)
		}
		if err != nil {
			t.Errorf("seed %d: %v\nto see it again: go test -tags replay -run '^TestSimulation$' ./lease -seed=%d -simulate=%v -v", seed, err, seed, *simulated)
		}
		ids, events, steps = ids+len(s.ids), events+len(s.events), steps+taken
	}
	t.Logf("%d seeds, %.0f fleet hours: %d IDs, %d events, %d steps of the model", n, float64(n)*simulated.Hours(), ids, events, steps)
}

// TestSeedRepeats checks that a seed always leads to the same trace.
func TestSeedRepeats(t *testing.T) {
	for i := range max(*seeds/4, 3) {
		seed := *firstSeed + i
		if a, b := simulate(t, seed), simulate(t, seed); a.hash() != b.hash() {
			t.Errorf("seed %d: traces %s and %s, want the same", seed, a.hash(), b.hash())
		}
	}
}

// lines returns the events as text. Events of the same instant are sorted by their text,
// because two goroutines of a process that wake at the same instant may add their events in
// either order.
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

// hash returns a short text that identifies the trace.
func (s *simulation) hash() string {
	sum := sha256.Sum256([]byte(strings.Join(s.lines(), "\n")))
	return hex.EncodeToString(sum[:16])
}

// check replays the trace, and also returns the errors that were found without the
// model. If the store forgets, it replays the view of each process instead, because the
// model's store does not forget acknowledged writes.
func (s *simulation) check() (steps int, err error) {
	err = errors.Join(s.wrong...)
	switch {
	case *blind:
	case s.forgets:
		for _, view := range s.views {
			taken, rejected := trace.Replay(view)
			steps, err = steps+taken, errors.Join(err, rejected)
		}
	default:
		r := model.NewReplay()
		err = errors.Join(err, r.Check(s.events))
		steps = r.Steps
	}
	return steps, err
}

// simulate runs a fleet of ten to seventeen processes with sixteen workers. The store
// of every fifth fleet forgets acknowledged writes, and its leases settle.
func simulate(t *testing.T, seed uint64) *simulation {
	var s *simulation
	synctest.Test(t, func(*testing.T) {
		s = &simulation{
			start: time.Now(), until: time.Now().Add(*simulated), world: newStream(seed, 1, 0, 0), forgets: seed%5 == 0,
			visible: map[int]lease.Record{}, tokens: model.Tokens{}, ids: map[types.ID]bool{},
		}
		for worker := range s.users {
			s.users[worker] = map[*client]bool{}
		}
		var wg sync.WaitGroup
		for process := range 10 + int(seed%8) {
			wg.Go(func() {
				pause := newStream(seed, 2, process, 0)
				for n := 0; time.Now().Before(s.until); n++ {
					time.Sleep(pause.upTo(20 * time.Second))
					s.newLife(seed, process, n).live()
				}
			})
		}
		wg.Go(s.disturb)
		wg.Wait()
		time.Sleep(time.Minute) // for the remaining calls of dead processes
	})
	return s
}

// disturb crashes the store, rolls back sessions of a store that forgets, and acts as the
// operator, until the simulation ends.
func (s *simulation) disturb() {
	for time.Now().Before(s.until) {
		time.Sleep(s.world.upTo(time.Minute))
		switch n := s.world.n(6); {
		case n < 2:
			s.operate()
		case n < 4 && s.forgets:
			s.rollBack()
		default:
			s.crash()
		}
	}
}
