package model

type mode num

const (
	idle     mode = iota
	joining       // writes its layout
	claiming      // wants a worker, under a token of its own
	checking      // has a worker, and reads the layout once more
	holding       // may issue below what was acknowledged
	stopped       // issues nothing more, and releases the worker
)

type status num

const (
	none   status = iota
	sent          // on its way
	landed        // visible, its answer is on its way
)

// A process has one grant; a lease with two is two processes.
type process struct {
	mode         mode
	worker       num
	next         num // the lowest tick that it may issue
	acknowledged num // the bound that counts
	base         base
	tried        [maxWorkers]num // by a claim: one above the bound from which it would issue

	layout num // zero if all have the same
	joined num // the version of the layout's record

	// The write that it waits for replaces base by bound to, under version.
	status  status
	to      num
	version num
}

// A base is what the next write needs of the record that it replaces.
type base struct{ bound, version num }

func baseOf(r record) base { return base{r.bound, r.version} }

func (pr process) hasBase() bool {
	return pr.status == sent || pr.mode >= checking
}

// nobody owns a record whose grant has ended; process i owns as i+1.
const nobody num = 0

type state struct {
	store     store
	issued    [maxWorkers][maxTicks]bool
	layout    num // of all that was issued
	processes [maxProcesses]process
	late      [maxLate]write // whose sender no longer waits
}

// empty is a place for a late write.
var empty = write{worker: -1}

func initial() (s state) {
	s.begin()
	return s
}

func (s *state) begin() {
	for i := range s.late {
		s.late[i] = empty
	}
}

// send makes a process wait for a write that replaces from.
func (s *state) send(p, worker num, from base, to num) {
	pr := &s.processes[p]
	pr.worker, pr.base, pr.status, pr.to, pr.version = worker, from, sent, to, s.fresh()
}

// write is what a process has sent.
func (s *state) write(p num) write {
	pr := s.processes[p]
	if pr.mode == joining {
		return write{layoutKey, pr.base.version, record{bound: pr.to, version: pr.version}}
	}
	return write{pr.worker, pr.base.version, record{pr.to, p + 1, pr.version, pr.mode == stopped}}
}

// wait ends the wait for an answer. A claim remembers what it has tried, and
// reads again.
func (pr *process) wait() {
	pr.status, pr.to, pr.version = none, 0, 0
	if pr.mode == joining || pr.mode == claiming {
		pr.worker, pr.base = 0, base{}
	}
}

// count makes the process use what it has written.
func (s *state) count(p num) {
	pr := &s.processes[p]
	written, worker := base{pr.to, pr.version}, pr.worker
	pr.wait()
	switch pr.mode {
	case joining:
		pr.mode, pr.joined = claiming, written.version
	case claiming:
		pr.hold(worker, written)
	case holding:
		pr.acknowledged, pr.base = written.bound, written
	case stopped:
		s.end(p)
	}
}

func (pr *process) hold(worker num, b base) {
	*pr = process{
		mode: holding, worker: worker, next: pr.tried[worker] - 1, acknowledged: b.bound, base: b,
		layout: pr.layout, joined: pr.joined,
	}
	if pr.layout != 0 {
		pr.mode = checking
	}
}

// end ends a grant. The process remembers nothing, and nobody owns what it has
// written: no later grant has its token.
func (s *state) end(p num) {
	s.processes[p] = process{}
	s.eachRecord(func(r *record) {
		if r.owner == p+1 {
			r.owner, r.released = nobody, false
		}
	})
}

func (s *state) eachRecord(visit func(*record)) {
	for i := range s.store.durable {
		visit(&s.store.durable[i])
	}
	for i := range s.store.pending {
		visit(&s.store.log[i].new)
	}
	for i := range s.late {
		visit(&s.late[i].new)
	}
}

// room is the index of an empty place for a late write, or -1.
func (s *state) room(limit int) int {
	for i := range limit {
		if s.late[i] == empty {
			return i
		}
	}
	return -1
}
