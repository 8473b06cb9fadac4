package model_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/internal/model"
)

// The sizes take seconds in all, the long ones some minutes and 5 GB.
// Each shows what the others have no room for: three processes, two workers,
// writes that arrive late, a chain of windows.
var (
	small = []model.Config{
		{Processes: 2, Workers: 1, Ticks: 4},
		{Processes: 2, Workers: 1, Ticks: 2, Late: 1},
		{Processes: 2, Workers: 2, Ticks: 1, Late: 1},
		{Processes: 3, Workers: 1, Ticks: 2},
	}
	usual = []model.Config{
		{Processes: 2, Workers: 1, Ticks: 3, Late: 1},
		{Processes: 2, Workers: 2, Ticks: 2},
		{Processes: 3, Workers: 1, Ticks: 2, Late: 1},
	}
	long = []model.Config{
		{Processes: 2, Workers: 1, Ticks: 5},
		{Processes: 2, Workers: 1, Ticks: 4, Late: 1},
		{Processes: 2, Workers: 1, Ticks: 3, Late: 2},
		{Processes: 2, Workers: 2, Ticks: 2, Late: 1},
	}
)

func sizes() []model.Config {
	all := small
	if !testing.Short() && !raceEnabled {
		all = append(all, usual...)
	}
	if os.Getenv("GORMFLAKE_TEST_TORTURE") == "long" && !raceEnabled {
		all = append(all, long...)
	}
	return all
}

func TestNoTickIsIssuedTwice(t *testing.T) {
	t.Parallel()
	for _, c := range sizes() {
		t.Run(fmt.Sprintf("processes=%d/workers=%d/ticks=%d/late=%d", c.Processes, c.Workers, c.Ticks, c.Late), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r, err := model.Check(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states, %d steps, %v", r.States, r.Steps, time.Since(began).Round(time.Millisecond))
			if r.Violation != "" {
				report(t, r)
				t.Errorf("violation: %s", r.Violation)
			}
		})
	}
}

// A model that finds nothing may be blind: each mistake must show.
func TestEveryMutantIsFound(t *testing.T) {
	t.Parallel()
	for _, m := range model.Mutants() {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			r, err := model.Check(model.Config{Processes: 2, Workers: 1, Ticks: 3, Late: 1, Mutant: m})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("after %d states: %s", r.States, r.Violation)
			report(t, r)
			if r.Violation == "" || len(r.Trace) == 0 {
				t.Errorf("no violation in all %d states, want one", r.States)
			}
		})
	}
}

func report(t *testing.T, r model.Result) {
	t.Helper()
	for i, step := range r.Trace {
		t.Logf("%2d. %s", i+1, step)
	}
}

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
