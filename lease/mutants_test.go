//go:build replay

package lease_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A sourceMutant is a mistake in the package's code. It replaces the text from, which must
// occur once in the file, by the text to.
type sourceMutant struct{ name, file, from, to string }

var sourceMutants = []sourceMutant{
	{"a bound counts that an extension has read", "keeper.go", "\tw.base = r\n\treturn nil, nil\n", "\tw.acknowledge(r)\n\treturn nil, nil\n"},
	{
		"a bound counts that a claim has read", "claim.go", "\tw := c.newWorker(found.key, now)\n",
		"\tw := c.newWorker(found.key, now)\n\tif found.record.heldBy() == c.token.holder {\n\t\tw.acknowledge(found.record)\n\t\treturn w, nil\n\t}\n",
	},
	{"a write without an answer counts", "keeper.go", "\t\tw.addSent(r)\n\t\tif err != nil {\n\t\t\treturn Record{}, nil, err", "\t\tw.addSent(r)\n\t\tif err != nil {\n\t\t\treturn r, nil, nil"},
	{"a write that was refused counts", "keeper.go", "\t\tif ok {\n\t\t\treturn r, nil, nil", "\t\tif ok || err == nil {\n\t\t\treturn r, nil, nil"},
	{"more counts than was written", "worker.go", "w.sent, w.base, w.acknowledged = nil, r, r.Bound\n", "w.sent, w.base, w.acknowledged = nil, r, r.Bound+10_000\n"},
	{"a loss revokes nothing", "worker.go", "\t\tgrant.Revoke()\n", "\t\t_ = grant\n"},
	{"a window begins below the bound it has found", "claim.go", "max(c.starts[found.key], found.start)\n", "max(c.starts[found.key], found.start-10_000)\n"},
	{"a release at the last tick", "holdings.go", "\treturn w.unusedFrom\n", "\treturn w.unusedFrom - h.layout.Tick.Milliseconds()\n"},
	{"an owner without a token", "worker.go", "return r.heldBy() == w.token.holder }", `return r.heldBy() != "" }`},
	{"an eviction goes unnoticed", "worker.go", "return r.heldBy() == w.token.holder }", "t, _ := parseToken(r.Owner); return t.holder == w.token.holder }"},
	{"a taker goes unnoticed", "keeper.go", "\tcase !w.owns(r):\n\t\treturn lostToTaker(w, r), nil\n", "\tcase r.heldBy() == \"\":\n\t\treturn lostToTaker(w, r), nil\n"},
	{"the layout is not read again", "claim.go", "return c.confirm(ctx, conn, w)", "return w, nil"},
	{"a layout that cannot be read again is trusted", "claim.go", "r == c.layoutRecord && err == nil", "r == c.layoutRecord || err != nil"},
	{"a claim is older than the layout", "claim.go", "\tif seen.records[layoutKey] == (Record{}) {\n", "\tif false {\n"},
	{"another layout is accepted", "layout.go", "stored.Owner != configured.Owner", "false"},
	{"a bound that the store has set back stands", "keeper.go", "\tcase w.storeForgot(r):\n", "\tcase w == nil:\n"},
	{"what was lost is forgotten", "choose.go", "ch.lostBounds[w.key] = max(", "_ = max("},
	{"an eviction lowers the bound", "evict.go", "\tt.released = true\n\treturn Record{r.Bound, ", "\tt.released = true\n\treturn Record{r.Bound - 10_000, "},
	{"a bound is reset to the last tick", "evict.go", "return ceil(bound, in.Layout.Tick.Milliseconds()), nil", "return bound / in.Layout.Tick.Milliseconds() * in.Layout.Tick.Milliseconds(), nil"},
	{"an extension lowers the bound", "keeper.go", "max(w.base.Bound, k.bound(max(now, need, w.lastTick())))", "k.bound(max(now, need))"},
}

// settleMutants are mistakes in settling. They only show as duplicates, on a store that
// forgets, because each process for itself obeys the protocol.
var settleMutants = []sourceMutant{
	{"nothing settles", "renew.go", "if err != nil || l.settle == 0 {", "if err != nil || w != nil {"},
	{"settling ends without a write", "renew.go", "extendErr := l.renewWindow(ctx, w, 0)", "var extendErr error"},
}

// tortureMutants names the mutants that TestTortureSQLite must find too. It runs processes
// that share a SQLite store, and replays their traces with the model.
var tortureMutants = []string{"a write without an answer counts", "more counts than was written", "a loss revokes nothing"}

// The replay of TestSimulation would prove nothing if it accepted every trace. Therefore
// each mutant is built into the package, and the replay must reject a trace of its
// simulation. The log shows whether a mere search for duplicates finds the mistake with
// the same seeds.
func TestTraceMutants(t *testing.T) {
	for seed := range uint64(20) {
		if _, err := simulate(t, 1+seed).check(); err != nil {
			t.Fatalf("without a mistake: %v", err)
		}
	}
	for _, m := range sourceMutants {
		t.Run(m.name, func(t *testing.T) { m.test(t, "event ") })
	}
	for _, m := range settleMutants {
		t.Run(m.name, func(t *testing.T) { m.test(t, "issued twice") })
	}
	for _, m := range sourceMutants {
		if slices.Contains(tortureMutants, m.name) {
			t.Run(m.name+", tortured", m.torture)
		}
	}
}

// torture builds the mutant into the test that tortures a SQLite store, and checks that the
// model rejects its traces too.
func (m sourceMutant) torture(t *testing.T) {
	out, err := exec.Command(m.build(t, "./sqllease"), "-test.run=^TestTortureSQLite$").CombinedOutput()
	if !strings.Contains(string(out), "the model does not allow") {
		t.Errorf("%v, want a trace that is rejected\n%s", err, out)
	}
}

// test runs the simulation with the mutant, and expects its output to contain want.
func (m sourceMutant) test(t *testing.T, want string) {
	program := m.build(t, ".")
	out, err := run(program)
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("20 seeds: %v, want %q\n%s", err, want, out)
	}
	_, err = run(program, "-blind")
	t.Logf("%s\na search for duplicates finds it: %v", firstLines(out), err != nil)
}

// run runs the simulation of a test program with 20 seeds.
func run(program string, args ...string) (string, error) {
	args = append([]string{"-test.run=^TestSimulation$", "-seeds=20"}, args...)
	out, err := exec.Command(program, args...).CombinedOutput()
	return string(out), err
}

// firstLines returns the first three lines of a text.
func firstLines(out string) string {
	return strings.Join(strings.SplitN(out, "\n", 4)[:3], "\n")
}

// build returns the test program of a package with the mistake.
func (m sourceMutant) build(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.from); n != 1 {
		t.Fatalf("%s has the text %d times, want once: %q", m.file, n, m.from)
	}
	mutated := filepath.Join(t.TempDir(), m.file)
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	config, program := mutated+".json", filepath.Join(t.TempDir(), "mutant.test")
	write(t, mutated, strings.Replace(string(source), m.from, m.to, 1))
	write(t, config, string(overlay))
	if out, err := exec.Command("go", "test", "-c", "-tags=replay", "-overlay="+config, "-o", program, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// write writes a file.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
