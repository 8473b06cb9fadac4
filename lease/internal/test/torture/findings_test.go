package torture_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease/internal/test/torture"
)

// Each case has the journals of up to three torture processes. The comparison of the journals
// must count exactly the violations of the case, such as an ID in two journals, and must
// count no violation in journals that are in order.
func TestFindings(t *testing.T) {
	t.Parallel()
	type entries = []torture.Entry
	// id(1, 5, 0) is the ID of worker 1 in tick 5 with the sequence 0. grant(1, 6) is a grant
	// of worker 1, in place of a grant whose window ended at tick 6.
	id, grant := torture.ID, torture.Grant
	tests := []struct {
		name      string
		processes []entries
		want      torture.Counts
	}{
		{"nothing", nil, torture.Counts{}},
		{
			"in order",
			[]entries{{grant(1, 0), id(1, 5, 0), id(1, 5, 1), torture.Stepped, torture.Refused, id(1, 6, 0)}, {grant(2, 0), id(2, 5, 0)}},
			torture.Counts{IDs: 4, Grants: 2, Workers: 2, Refusals: 1, Steps: 1},
		},
		{
			"one ID of two processes",
			[]entries{{grant(1, 0), id(1, 5, 0), id(1, 7, 0)}, {grant(1, 0), id(1, 5, 0), id(1, 6, 0)}},
			torture.Counts{IDs: 4, Grants: 2, Workers: 1, Duplicates: 1, Shared: 1},
		},
		{
			"one tick of two processes",
			[]entries{{grant(1, 0), id(1, 5, 0)}, {grant(1, 0), id(1, 5, 1)}},
			torture.Counts{IDs: 2, Grants: 2, Workers: 1, Shared: 1},
		},
		{
			"one tick of three processes",
			[]entries{{grant(1, 0), id(1, 5, 0)}, {grant(1, 0), id(1, 5, 0)}, {grant(1, 0), id(1, 5, 0)}},
			torture.Counts{IDs: 3, Grants: 3, Workers: 1, Duplicates: 2, Shared: 1},
		},
		{
			"one tick of two grants in one process",
			[]entries{{grant(1, 0), id(1, 5, 0), grant(1, 5), id(1, 5, 1)}},
			torture.Counts{IDs: 2, Grants: 2, Workers: 1, Shared: 1},
		},
		{
			"a replaced grant's last IDs come after the marker",
			[]entries{{grant(1, 0), id(1, 5, 0), grant(1, 6), id(1, 5, 1), id(1, 6, 0)}},
			torture.Counts{IDs: 3, Grants: 2, Workers: 1},
		},
		{
			"another worker's marker",
			[]entries{{grant(1, 0), id(1, 5, 0), grant(2, 9), id(1, 5, 1), id(2, 6, 0), id(2, 9, 0)}},
			torture.Counts{IDs: 4, Grants: 2, Workers: 2},
		},
		{
			"a grant that was not used",
			[]entries{{grant(1, 0), id(1, 5, 0), grant(2, 6), grant(3, 7), id(3, 8, 0)}},
			torture.Counts{IDs: 2, Grants: 3, Workers: 2},
		},
		{
			"back to a worker that was replaced",
			[]entries{{grant(1, 0), id(1, 5, 0), grant(2, 6), id(2, 6, 0), id(1, 7, 0)}},
			torture.Counts{IDs: 3, Grants: 2, Workers: 2, Strangers: 1},
		},
		{
			"no grant",
			[]entries{{id(1, 5, 0)}},
			torture.Counts{IDs: 1, Strangers: 1},
		},
		{
			"falling",
			[]entries{{grant(1, 0), id(1, 5, 1), id(1, 5, 0)}},
			torture.Counts{IDs: 2, Grants: 1, Workers: 1, Falling: 1},
		},
		{
			"standing still",
			[]entries{{grant(1, 0), id(1, 5, 1), id(1, 5, 1)}},
			torture.Counts{IDs: 2, Grants: 1, Workers: 1, Falling: 1, Duplicates: 1},
		},
		{
			"lower under another generator",
			[]entries{{grant(1, 0), id(1, 5, 1), torture.Started, grant(2, 0), id(2, 4, 0)}},
			torture.Counts{IDs: 2, Grants: 2, Workers: 2},
		},
		{
			"worker of another generator",
			[]entries{{grant(1, 0), id(1, 5, 1), torture.Started, id(1, 6, 0)}},
			torture.Counts{IDs: 2, Grants: 1, Workers: 1, Strangers: 1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := torture.Examine(t, test.processes...).Counts(); got != test.want {
				t.Errorf("findings %+v, want %+v", got, test.want)
			}
		})
	}
}

// playFailing is the environment variable that makes a child of the test binary run the
// tortures that must fail.
const playFailing = "GORMFLAKE_LEASETEST_FAILING"

// TestFailingTortures runs tortures of which most must fail, in the child process of
// TestTortureFails.
func TestFailingTortures(t *testing.T) {
	if os.Getenv(playFailing) == "" {
		t.Skip("played by TestTortureFails")
	}
	good := []torture.Entry{torture.Grant(1, 0), torture.ID(1, 5, 0), torture.ID(1, 6, 0)}
	few := torture.Config{IDs: 2, Pauses: -1} // wants two IDs and no pause
	// with returns few with a change.
	with := func(change func(*torture.Config)) torture.Config {
		config := few
		change(&config)
		return config
	}
	lose := with(func(c *torture.Config) { c.LoseOneIn = 2 })
	t.Run("none", func(t *testing.T) { torture.Judge(t, torture.Examine(t, good), few) })
	t.Run("twice", func(t *testing.T) { torture.Judge(t, torture.Examine(t, good, good), few) })
	t.Run("few IDs", func(t *testing.T) {
		torture.Judge(t, torture.Examine(t, good), with(func(c *torture.Config) { c.IDs = 3 }))
	})
	t.Run("few pauses", func(t *testing.T) {
		torture.Judge(t, torture.Examine(t, good), with(func(c *torture.Config) { c.Pauses = 1 }))
	})
	t.Run("no outage", func(t *testing.T) {
		torture.Judge(t, torture.Examine(t, good), with(func(c *torture.Config) { c.Server = server{} }))
	})
	t.Run("some answers lost", func(t *testing.T) {
		torture.Judge(t, torture.Examine(t, append(good, torture.Lost)), lose)
	})
	t.Run("no answer lost", func(t *testing.T) {
		torture.Judge(t, torture.Examine(t, good), lose)
	})
	t.Run("process gives up", func(t *testing.T) {
		torture.Judge(t, torture.Findings(t, quits, quick()), few)
	})
	t.Run("options", func(t *testing.T) {
		torture.Run(t, "",
			torture.Config{Processes: -1, Workers: 33, Window: -1, Duration: -1, Outages: -1, LoseOneIn: -1})
	})
}

// A torture must fail with a message for each kind of violation, for numbers of IDs and
// faults that are too small, and for fields of its config that are out of range. The tortures
// run in a child process, because their failures would fail this test.
func TestTortureFails(t *testing.T) {
	t.Parallel()
	began := time.Now()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestFailingTortures$", "-test.v")
	cmd.Env = append(os.Environ(), playFailing+"=1")
	out, _ := cmd.CombinedOutput()
	for _, want := range []string{
		"--- PASS: TestFailingTortures/none (",
		"--- FAIL: TestFailingTortures/twice (",
		"2 IDs issued twice, 2 ticks of a worker issued under two grants",
		"--- FAIL: TestFailingTortures/few_IDs (",
		"--- FAIL: TestFailingTortures/few_pauses (",
		"--- FAIL: TestFailingTortures/no_outage (",
		"--- PASS: TestFailingTortures/some_answers_lost (",
		"0 times fenced, 3 answers to writes lost",
		"--- FAIL: TestFailingTortures/no_answer_lost (",
		"no answer was lost, want at least one",
		"--- FAIL: TestFailingTortures/process_gives_up (",
		"has ended without being told to: exit status 1: quits",
		"--- FAIL: TestFailingTortures/options (",
		"leasetest: TortureConfig.Processes is -1: want 1 or more",
		"leasetest: TortureConfig.Workers is 33: want 1 to 32",
		"leasetest: TortureConfig.Window is -1ns: want more than 0",
		"leasetest: TortureConfig.Duration is -1ns: want more than 0",
		"leasetest: TortureConfig.Outages is -1: want 1 or more",
		"leasetest: TortureConfig.LoseOneIn is -1: want 0 or more",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q", want)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v: a process that gives up ends the torture", took)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
