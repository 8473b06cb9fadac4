package torture

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gormflake/gormflake/types"
)

// findings are the combined results of all journals.
type findings struct {
	faultCounts
	took                       time.Duration
	processes, grants, workers int
	ids, refusals, steps       int
	lost                       int // lost answers to writes
	duplicates, shared         int // IDs that were issued again; ticks of a worker under two grants
	falling, strangers         int // IDs that are not above the previous ID; IDs under a worker that was not granted
	unreadable, rejected       int // journals that cannot be read; traces that the model rejects
	replayed                   int // steps of the model
	examples                   []string
}

// maxExamples is the number of violations that a report describes.
const maxExamples = 8

// example keeps a description of a violation for the report, unless it has enough.
func (f *findings) example(format string, args ...any) {
	if len(f.examples) < maxExamples {
		f.examples = append(f.examples, fmt.Sprintf(format, args...))
	}
}

func (f *findings) String() string {
	text := fmt.Sprintf("%d IDs in %v: %d processes, %d grants, %d workers; %d pauses longer than the window (longest %v), %d killed, %d ended, %d clock steps, %d outages, %d times fenced",
		f.ids, f.took.Round(time.Millisecond), f.processes, f.grants, f.workers,
		f.pauses, f.longest.Round(time.Millisecond), f.kills, f.ends, f.steps, f.outages, f.refusals)
	if f.lost > 0 {
		text += fmt.Sprintf(", %d answers to writes lost", f.lost)
	}
	if f.replayed > 0 {
		text += fmt.Sprintf(", %d steps of the model", f.replayed)
	}
	return text
}

// violations counts the findings that must never occur.
func (f *findings) violations() int {
	return f.duplicates + f.shared + f.falling + f.strangers + f.unreadable
}

// report logs the findings, and fails the test if there are violations, or fewer IDs and
// faults than the config asks for.
func (c *torture) report(t *testing.T, f *findings) {
	t.Helper()
	t.Log(f)
	if f.violations() > 0 {
		t.Errorf("%d IDs issued twice, %d ticks of a worker issued under two grants, %d IDs not above the one before, %d under a worker that was not granted, %d journals unreadable",
			f.duplicates, f.shared, f.falling, f.strangers, f.unreadable)
	}
	if f.rejected > 0 {
		t.Errorf("the model does not allow what %d processes did", f.rejected)
	}
	for _, example := range f.examples {
		t.Log(example)
	}
	if c.LoseOneIn > 0 && f.lost == 0 {
		t.Error("no answer was lost, want at least one")
	}
	if f.ids < c.IDs || f.pauses < c.Pauses || c.Server != nil && f.outages < c.Outages {
		t.Errorf("%d IDs, %d pauses longer than the window and %d outages within %v, want at least %d, %d and, with a server, %d",
			f.ids, f.pauses, f.outages, c.limit, c.IDs, c.Pauses, c.Outages)
	}
}

// An issue is an ID, and the grant under which it was issued.
type issue struct {
	id    types.ID
	grant int32 // index in the examiner's grants
}

// A grantInfo is a grant as its journal describes it.
type grantInfo struct {
	process  int
	key      int64 // of the worker
	boundary int64 // when the previous grant's window ended, in Unix milliseconds
}

// An examiner combines the journals.
type examiner struct {
	findings
	grants []grantInfo
	issues []issue
}

// examine reads all journals.
func (r *runner) examine() *findings {
	e := &examiner{findings: findings{faultCounts: r.injected, took: time.Since(r.began), processes: len(r.children)}}
	for _, c := range r.children {
		if err := e.read(c.number, c.journal); err != nil {
			e.unreadable++
			e.example("%v: %v", c, err)
		}
		steps, err := replay(c.journal + traceSuffix)
		if err != nil {
			e.rejected++
			e.example("%v: %v", c, err)
		}
		e.replayed += steps
	}
	e.compare()
	e.findings.grants = len(e.grants)
	return &e.findings
}

// A reader reads one journal.
type reader struct {
	*examiner
	process int
	last    types.ID // the last ID of the current generator
	current int32    // index of the grant of the last ID; -1 before the first ID
	pending []int32  // later grants, under which no ID has come yet
}

// read reads the journal of a process.
func (e *examiner) read(process int, path string) error {
	r := &reader{examiner: e, process: process, current: -1}
	return readJournal(path, r.entry)
}

// entry reads an ID or a marker.
func (r *reader) entry(en entry) {
	if en&marker == 0 {
		r.id(types.ID(en))
		return
	}
	switch payload := en & payloadMask; en &^ marker >> kindShift { // by the kind of the marker
	case granted:
		r.pending = append(r.pending, int32(len(r.grants)))
		r.grants = append(r.grants, grantInfo{r.process, int64(payload >> keyShift), int64(payload & timeMask)})
	case started:
		r.last, r.current, r.pending = 0, -1, nil
	case refused:
		r.refusals++
	case stepped:
		r.steps++
	case lost:
		r.findings.lost += int(payload)
	}
}

// id checks an ID against the previous ID and the current grant.
func (r *reader) id(id types.ID) {
	if id <= r.last {
		r.falling++
		r.example("process %d issued %v after %v", r.process, id, r.last)
	}
	r.last = id
	r.findings.ids++
	r.attribute(id)
	if r.current < 0 || r.grants[r.current].key != keyOf(id) {
		r.strangers++
		r.example("process %d issued %v under worker %d, which it was not granted", r.process, id, keyOf(id))
		return
	}
	r.issues = append(r.issues, issue{id, r.current})
}

// attribute makes a pending grant the current grant if the ID belongs to it. Some IDs after
// the marker of a grant may still belong to the previous grant, because one call may take
// IDs under both. If both grants are of the same worker, the time of an ID decides, because
// IDs of the previous grant are before the end of its window, which is the boundary of the
// pending grant.
func (r *reader) attribute(id types.ID) {
	for i, newer := range slices.Backward(r.pending) {
		g := r.grants[newer]
		changed := r.current < 0 || r.grants[r.current].key != g.key // to another worker
		if g.key == keyOf(id) && (changed || layout.Time(id).UnixMilli() >= g.boundary) {
			r.current, r.pending = newer, r.pending[i+1:]
			return
		}
	}
}

// keyOf returns the key of the worker that has issued the ID.
func keyOf(id types.ID) int64 {
	p := layout.Decompose(id)
	return p.Datacenter<<layout.WorkerBits | p.Worker
}

// compare looks for IDs and ticks that occur twice.
func (e *examiner) compare() {
	slices.SortFunc(e.issues, func(a, b issue) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.grant, b.grant))
	})
	workers := map[int64]bool{}
	for rest := e.issues; len(rest) > 0; {
		n := sameTick(rest)
		workers[keyOf(rest[0].id)] = true
		e.tick(rest[:n])
		rest = rest[n:]
	}
	e.workers = len(workers)
}

// sameTick counts the issues at the start that have the same worker and tick, which are the
// bits of an ID above its sequence.
func sameTick(issues []issue) int {
	n := 1
	for n < len(issues) && issues[n].id>>layout.SequenceBits == issues[0].id>>layout.SequenceBits {
		n++
	}
	return n
}

// tick compares the issues of one tick of a worker. It counts IDs that occur again, and
// whether the tick was issued under two grants.
func (e *examiner) tick(issues []issue) {
	other := -1
	for i := 1; i < len(issues); i++ {
		if issues[i].id == issues[i-1].id {
			e.duplicates++
		}
		if issues[i].grant != issues[0].grant {
			other = i
		}
	}
	if other < 0 {
		return
	}
	e.shared++
	a, b := issues[0], issues[other]
	e.example("worker %d, tick %s: %v by process %d and %v by process %d",
		keyOf(a.id), layout.Time(a.id).Format("15:04:05.000"), a.id, e.grants[a.grant].process, b.id, e.grants[b.grant].process)
}
