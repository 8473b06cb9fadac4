//go:build !replay

package model_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/internal/test/model"
)

// The sizes at which Check visits all states. The small sizes take a second in total, the
// usual sizes half a minute, and the long sizes some minutes and 3 GB. A size with three
// processes, two workers, late and forgotten writes, an operator and many ticks would have too
// many states. So each size has only some of these.
var (
	small = []model.Config{
		{Processes: 2, Workers: 1, Ticks: 3},
		{Processes: 2, Workers: 1, Ticks: 2, Late: 1, Volatile: 1},
		{Processes: 2, Workers: 1, Ticks: 2, Volatile: 3, Evict: true},
		{Processes: 2, Workers: 2, Ticks: 1, Volatile: 2},
		{Processes: 3, Workers: 1, Ticks: 2},
		{Processes: 2, Workers: 1, Ticks: 1, Volatile: 2, Layouts: true},
	}
	usual = []model.Config{
		{Processes: 2, Workers: 1, Ticks: 4, Volatile: 1},
		{Processes: 2, Workers: 1, Ticks: 3, Late: 1, Volatile: 1},
		{Processes: 2, Workers: 1, Ticks: 3, Volatile: 2, Evict: true},
		{Processes: 2, Workers: 1, Ticks: 2, Late: 1, Volatile: 2, Evict: true},
		{Processes: 2, Workers: 2, Ticks: 2},
		{Processes: 2, Workers: 2, Ticks: 1, Late: 1, Volatile: 2},
		{Processes: 2, Workers: 1, Ticks: 2, Volatile: 3, Evict: true, Layouts: true},
		{Processes: 3, Workers: 1, Ticks: 2, Late: 1, Volatile: 1},
		{Processes: 3, Workers: 1, Ticks: 2, Volatile: 2},
	}
	long = []model.Config{
		{Processes: 2, Workers: 1, Ticks: 5, Volatile: 1},
		{Processes: 2, Workers: 1, Ticks: 4, Volatile: 3, Evict: true},
		{Processes: 2, Workers: 1, Ticks: 3, Late: 1, Volatile: 3, Evict: true},
		{Processes: 2, Workers: 1, Ticks: 3, Late: 2, Volatile: 2},
		{Processes: 2, Workers: 2, Ticks: 2, Volatile: 2},
		{Processes: 2, Workers: 2, Ticks: 2, Late: 1, Volatile: 1},
		{Processes: 2, Workers: 2, Ticks: 1, Late: 1, Volatile: 2, Layouts: true},
		{Processes: 3, Workers: 1, Ticks: 2, Volatile: 2, Layouts: true},
		{Processes: 3, Workers: 1, Ticks: 2, Late: 1, Volatile: 2},
		{Processes: 3, Workers: 1, Ticks: 3, Volatile: 1},
	}
)

var isUsual = flag.Bool("usual", false, "try the usual sizes too")

// sizes returns the sizes of this run.
func sizes() []model.Config {
	all, isLong := slices.Clone(small), os.Getenv("GORMFLAKE_TEST_TORTURE") == "long"
	if *isUsual || isLong {
		all = append(all, usual...)
	}
	if isLong {
		all = append(all, long...)
	}
	return all
}

// Check visits every order of events at each size of this run. In none of them may a tick of
// a worker be issued twice.
func TestNoTickIsIssuedTwice(t *testing.T) {
	t.Parallel()
	for _, c := range sizes() {
		t.Run(name(c), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r := check(t, c)
			t.Logf("%d states, %d steps, %v", r.States, r.Steps, time.Since(began).Round(time.Millisecond))
			if r.Violation != "" {
				report(t, r)
				t.Errorf("violation: %s", r.Violation)
			}
		})
	}
}

// name returns the name of a size's subtest.
func name(c model.Config) string {
	s := fmt.Sprintf("processes=%d/workers=%d/ticks=%d/late=%d/volatile=%d", c.Processes, c.Workers, c.Ticks, c.Late, c.Volatile)
	if c.Evict {
		s += "/evict"
	}
	if c.Layouts {
		s += "/layouts"
	}
	return s
}

// check visits all states of a size.
func check(t *testing.T, c model.Config) model.Result {
	t.Helper()
	r, err := model.Check(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Check must find a violation for each mutant. If it missed a mistake that was made on
// purpose, it would mean little that it finds no violation of the protocol.
func TestEveryMutantIsFound(t *testing.T) {
	t.Parallel()
	for _, m := range model.Mutants() {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			r := check(t, worldOf(m))
			t.Logf("after %d states: %s", r.States, r.Violation)
			report(t, r)
			if r.Violation == "" || len(r.Trace) == 0 {
				t.Errorf("no violation in all %d states, want one", r.States)
			}
		})
	}
}

// worldOf returns a size at which a mutant shows. The mutants of layouts have a
// separate size, because layouts need so many states.
func worldOf(m model.Mutant) model.Config {
	if m == model.TrustLayout || m == model.SameLayout || m == model.UnreadLayout {
		return model.Config{Processes: 2, Workers: 1, Ticks: 2, Volatile: 1, Layouts: true, Mutant: m}
	}
	return model.Config{Processes: 2, Workers: 1, Ticks: 2, Late: 1, Volatile: 1, Evict: true, Mutant: m}
}

// A store with Volatile 0 never forgets a visible write, so that a process may trust the
// records that it reads. Check must then find no violation for the two mutants that trust
// such records. This shows that TestEveryMutantIsFound finds them only because its store may
// forget.
func TestTrustReadNeedsAVolatileStore(t *testing.T) {
	t.Parallel()
	for _, m := range []model.Mutant{model.TrustRead, model.TrustReadExtending} {
		r := check(t, model.Config{Processes: 2, Workers: 1, Ticks: 2, Late: 1, Evict: true, Mutant: m})
		if r.Violation != "" {
			report(t, r)
			t.Errorf("%s: violation: %s", m, r.Violation)
		}
	}
}

// Trace is the shortest way to the violation. Each process must keep its name in all steps of
// the trace, although Check sorts the processes of every state.
func TestTrace(t *testing.T) {
	t.Parallel()
	r := check(t, model.Config{Processes: 2, Workers: 1, Ticks: 1, Volatile: 1, Mutant: model.TrustRead})
	want := []string{
		"process A asks for worker 0 from tick 0 up to bound 1",
		"process A has its write compared in the store",
		"process A stops waiting for the answer",
		"process A reads its own record of worker 0 and trusts it",
		"process A issues tick 0 of worker 0",
		"the store crashes, and 0 of the writes in its log survive",
		"process B asks for worker 0 from tick 0 up to bound 1",
		"process B has its write compared in the store",
		"process B gets the acknowledgement",
		"process B issues tick 0 of worker 0",
	}
	if !slices.Equal(r.Trace, want) || r.Violation != "tick 0 of worker 0 is issued twice" {
		report(t, r)
		t.Errorf("violation %q, want the trace %q", r.Violation, want)
	}
}

// report logs the trace of a violation.
func report(t *testing.T, r model.Result) {
	t.Helper()
	for i, step := range r.Trace {
		t.Logf("%2d. %s", i+1, step)
	}
}

// Check refuses a size that does not fit into a state, and an unknown mutant.
func TestConfig(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config model.Config
		want   string
	}{
		{"no process", model.Config{Workers: 1, Ticks: 1}, "model: Processes 0 out of range [1, 3]"},
		{"three workers", model.Config{Processes: 1, Workers: 3, Ticks: 1}, "model: Workers 3 out of range [1, 2]"},
		{"nine ticks", model.Config{Processes: 1, Workers: 1, Ticks: 9}, "model: Ticks 9 out of range [1, 8]"},
		{"three late", model.Config{Processes: 1, Workers: 1, Ticks: 1, Late: 3}, "model: Late 3 out of range [0, 2]"},
		{"four volatile", model.Config{Processes: 1, Workers: 1, Ticks: 1, Volatile: 4}, "model: Volatile 4 out of range [0, 3]"},
		{"mutant", model.Config{Processes: 1, Workers: 1, Ticks: 1, Mutant: "x"}, `model: unknown mutant "x"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := model.Check(test.config); err == nil || err.Error() != test.want {
				t.Errorf("Check = %v, want %s", err, test.want)
			}
		})
	}
}
