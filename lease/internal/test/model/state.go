package model

// A mode is what a process does at present.
type mode num

const (
	idle     mode = iota
	joining       // is writing its layout
	claiming      // wants a worker, under its own token
	checking      // has a worker, and has to read the layout once more
	holding       // may issue below the acknowledged bound
	stopped       // does not issue any more, and releases the worker
)

// A status is how far the write of a process has come.
type status num

const (
	none   status = iota
	sent          // the write is on its way
	landed        // the write is visible, and its answer is on its way
)

// A process has one grant. A lease with two grants is two processes.
type process struct {
	mode         mode
	worker       num
	next         num             // the lowest tick that it may issue
	acknowledged num             // the bound that counts
	base         base            // the record that its next write replaces
	tried        [maxWorkers]num // of a claim, by worker: the tick from which it would issue, plus one; 0 if it has not tried

	layout num // zero if all processes have the same layout
	joined num // the version of the layout's record that it has read or written

	// The pending write replaces base by a record whose bound is the field to, and whose
	// version is the field version.
	status  status
	to      num
	version num
}

// A base is the bound and version of the record that the next write replaces.
type base struct{ bound, version num }

// baseOf returns the record r as a base.
func baseOf(r record) base { return base{r.bound, r.version} }

// hasBase reports whether a write that is on its way, or the next write of the process, will be
// compared with its base. A claim has no base between its writes, because it reads the record
// again before each of them.
func (pr process) hasBase() bool {
	return pr.status == sent || pr.mode >= checking
}

// nobody is the owner of a record whose grant has ended. Process i is the owner i+1.
const nobody num = 0

// A state is the state of the store and of all processes at one moment.
type state struct {
	store     store
	issued    [maxWorkers][maxTicks]bool // whether an ID was issued, by worker and tick
	layout    num                        // the layout of all issued IDs; zero before the first
	processes [maxProcesses]process
	late      [maxLate]write // writes on their way whose sender no longer waits
}

// empty marks a free place for a late write.
var empty = write{worker: -1}

// initial returns the state before the first step.
func initial() (s state) {
	s.reset()
	return s
}

// reset makes a zero state the initial state.
func (s *state) reset() {
	for i := range s.late {
		s.late[i] = empty
	}
}

// send makes process p send a write that replaces the base from by a record with the bound to,
// and wait for the answer.
func (s *state) send(p, worker num, from base, to num) {
	pr := &s.processes[p]
	pr.worker, pr.base, pr.status, pr.to, pr.version = worker, from, sent, to, s.fresh()
}

// write returns the write that a process has sent. The new record has the owner p+1, and is
// released if the process has stopped. The layout's record has no owner.
func (s *state) write(p num) write {
	pr := s.processes[p]
	if pr.mode == joining {
		return write{layoutKey, pr.base.version, record{bound: pr.to, version: pr.version}}
	}
	return write{pr.worker, pr.base.version, record{pr.to, p + 1, pr.version, pr.mode == stopped}}
}

// stopWaiting ends the wait for an answer, so that the process can send another write. A
// claim remembers the workers that it has tried, and reads again.
func (pr *process) stopWaiting() {
	pr.status, pr.to, pr.version = none, 0, 0
	if pr.mode == joining || pr.mode == claiming {
		pr.worker, pr.base = 0, base{}
	}
}

// useWritten makes the process use the record that it has written, after the
// acknowledgement.
func (s *state) useWritten(p num) {
	pr := &s.processes[p]
	written, worker := base{pr.to, pr.version}, pr.worker
	pr.stopWaiting()
	switch pr.mode {
	case joining:
		pr.mode, pr.joined = claiming, written.version
	case claiming:
		pr.hold(worker, written)
	case holding:
		pr.acknowledged, pr.base = written.bound, written
	case stopped:
		s.endWorker(p)
	}
}

// endWorker ends the grant of a worker that is lost or released. A claim that has given up
// may have tried other workers, which it can still release.
func (s *state) endWorker(p num) {
	pr := &s.processes[p]
	pr.tried[pr.worker] = 0
	if pr.tried == [maxWorkers]num{} {
		s.end(p)
		return
	}
	*pr = process{mode: claiming, tried: pr.tried, layout: pr.layout, joined: pr.joined}
}

// hold makes a claim hold the worker, whose record is b. The process issues from the tick of
// its claim, which is the worker's value in the field tried minus one. If the process has a
// layout, it must first read the store's layout once more.
func (pr *process) hold(worker num, b base) {
	tried := pr.tried
	*pr = process{
		mode: holding, worker: worker, next: pr.tried[worker] - 1, acknowledged: b.bound, base: b,
		layout: pr.layout, joined: pr.joined,
	}
	if pr.layout != 0 {
		pr.mode, pr.tried = checking, tried // because the claim may still fail, and give up
	}
}

// end ends the grant of process p, which becomes idle. The records with the token of this grant
// get the owner nobody, because the next grant of process p has another token.
func (s *state) end(p num) {
	s.processes[p] = process{}
	s.eachRecord(func(r *record) {
		if r.owner == p+1 {
			r.owner, r.released = nobody, false
		}
	})
}

// eachRecord calls visit for every record that is durable, in the log, or in a late write.
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

// freeLatePlace returns the index of a free place among the first limit places for late
// writes, or -1.
func (s *state) freeLatePlace(limit int) int {
	for i := range limit {
		if s.late[i] == empty {
			return i
		}
	}
	return -1
}
