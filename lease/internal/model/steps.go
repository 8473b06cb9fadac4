package model

import "fmt"

// A kind is one of the things that can happen.
type kind int8

const (
	try     kind = iota // a claim reads the store and writes to worker, up to bound a; b is where it starts
	find                // a claim reads that an earlier write of its own has landed
	extend              // writes bound a
	look                // reads the record of its worker
	issue               // tick a
	stop                // issues nothing more; a as for timeout
	release             // writes bound a, and no owner
	arrive              // the write is carried out, or refused
	answer              // the process learns that
	timeout             // it stops waiting; a is 1 if the write is still on its way
	deliver             // late write number a arrives
	die                 // the process loses its memory; a as for timeout
	forget              // the store loses a record
	clone               // process becomes a copy of process a
)

// A step is something that happens in a state.
type step struct {
	kind            kind
	process, worker int8
	a, b            int8
}

// describe writes the step down for a reader who knows processes by name.
func (st step) describe(names [maxProcesses]int8) string {
	if st.kind == deliver {
		return fmt.Sprintf("late write %d arrives", st.a)
	}
	if st.kind == forget {
		return fmt.Sprintf("the store forgets worker %d", st.worker)
	}
	return fmt.Sprintf("process %c %s", 'A'+names[st.process], st.action(names))
}

func (st step) action(names [maxProcesses]int8) string {
	var remains string
	if st.a > 0 {
		remains = ", and its write is still on its way"
	}
	switch st.kind {
	case try:
		return fmt.Sprintf("asks for worker %d from tick %d up to bound %d", st.worker, st.b, st.a)
	case find:
		return fmt.Sprintf("finds that it has taken worker %d", st.worker)
	case extend:
		return fmt.Sprintf("asks to extend worker %d to bound %d", st.worker, st.a)
	case look:
		return fmt.Sprintf("reads the record of worker %d", st.worker)
	case issue:
		return fmt.Sprintf("issues tick %d of worker %d", st.a, st.worker)
	case stop:
		return "stops issuing" + remains
	case release:
		return fmt.Sprintf("gives worker %d back at bound %d", st.worker, st.a)
	case arrive:
		return "has its write compared in the store"
	case answer:
		return "gets the answer"
	case timeout:
		return "stops waiting for the answer" + remains
	case die:
		return "dies" + remains
	default:
		return fmt.Sprintf("becomes a copy of process %c", 'A'+names[st.a])
	}
}

// A stepper finds all steps of a state.
type stepper struct {
	config  Config
	state   state
	visit   func(step, state)
	violate func(step, string)
}

func (sr *stepper) all() {
	for i := range sr.config.Processes {
		p := int8(i)
		sr.processSteps(p)
		sr.writeSteps(p)
		if sr.state.processes[p].mode != idle {
			sr.abandon(step{kind: die, process: p}, (*state).dead)
		}
	}
	sr.lateSteps()
	sr.mutantSteps()
}

func (sr *stepper) processSteps(p int8) {
	switch pr := sr.state.processes[p]; pr.mode {
	case idle:
		sr.claims(p)
	case claiming:
		if pr.status == none && !sr.finds(p) {
			sr.claims(p)
		}
	case holding:
		sr.issues(p)
		sr.stops(p)
		if pr.status == none {
			sr.extends(p)
			sr.looks(p)
		}
	case lost:
		sr.issues(p)
	case stopped:
		if sr.config.Mutant == IssueAfterRelease {
			sr.issues(p)
		}
		if pr.status == none {
			sr.releases(p)
			sr.looks(p)
		}
	}
}

// change visits the state that a step leads to.
func (sr *stepper) change(st step, f func(s *state, p *process)) {
	next := sr.state
	f(&next, &next.processes[st.process])
	sr.visit(st, next)
}

// claims asks for any worker: with the right clock, any bound has passed.
func (sr *stepper) claims(p int8) {
	for w := range int8(sr.config.Workers) {
		old := sr.state.store[w]
		for from := sr.earliest(old); from <= old.bound; from++ {
			for to := from + 1; to <= int8(sr.config.Ticks); to++ {
				sr.change(step{try, p, w, to, from}, func(_ *state, pr *process) {
					if pr.mode == idle {
						*pr = process{mode: claiming, token: sr.token()}
					}
					pr.worker, pr.status, pr.old, pr.to = w, sent, old, to
					pr.tried[w] = max(pr.tried[w], from+1)
				})
			}
		}
	}
}

// earliest is where the holder of a window above a record may begin.
func (sr *stepper) earliest(old record) int8 {
	if sr.config.Mutant == FromNow {
		return 0
	}
	return old.bound
}

func (sr *stepper) token() int8 {
	if sr.config.Mutant == NoToken {
		return 1
	}
	return sr.state.fresh()
}

// finds reports whether an earlier write of the claim has landed, which is then
// the only way to go on.
func (sr *stepper) finds(p int8) bool {
	pr := sr.state.processes[p]
	found := false
	for w, r := range sr.state.store {
		if pr.tried[w] > 0 && r.owner == pr.token {
			found = true
			sr.change(step{kind: find, process: p, worker: int8(w)}, func(_ *state, pr *process) {
				pr.hold(int8(w), r.bound)
			})
		}
	}
	return found
}

func (pr *process) hold(worker, bound int8) {
	*pr = process{mode: holding, token: pr.token, worker: worker, floor: pr.tried[worker] - 1, bound: bound}
}

// known is the record that an extension or a release replaces.
func (pr *process) known() record { return record{pr.bound, pr.token} }

func (sr *stepper) extends(p int8) {
	pr := sr.state.processes[p]
	for to := pr.bound + 1; to <= int8(sr.config.Ticks); to++ {
		sr.change(step{kind: extend, process: p, worker: pr.worker, a: to}, func(_ *state, pr *process) {
			pr.status, pr.old, pr.to = sent, pr.known(), to
		})
	}
}

func (sr *stepper) issues(p int8) {
	pr := sr.state.processes[p]
	end := pr.bound
	if sr.config.Mutant == TTLOnly {
		end = int8(sr.config.Ticks)
	}
	for t := pr.floor; t < end; t++ {
		st := step{kind: issue, process: p, worker: pr.worker, a: t}
		switch mark := sr.state.issued[pr.worker][t]; {
		case mark != unissued && mark != p+1:
			sr.violate(st, fmt.Sprintf("tick %d of worker %d is issued by two grants", t, pr.worker))
		case mark == unissued || t > pr.floor:
			sr.change(st, func(s *state, pr *process) {
				s.issued[pr.worker][t] = p + 1
				pr.floor = t
			})
		}
	}
}

// looks reads the record, and finds something new in it.
func (sr *stepper) looks(p int8) {
	pr := sr.state.processes[p]
	st := step{kind: look, process: p, worker: pr.worker}
	switch r := sr.state.store[pr.worker]; {
	case r.owner != pr.token && pr.mode == holding:
		sr.change(st, func(_ *state, pr *process) { pr.mode = lost })
	case r.owner != pr.token:
		sr.change(st, func(s *state, _ *process) { s.dead(p) })
	case r.bound < pr.bound && pr.mode == holding && sr.config.Mutant == Unchanged:
		sr.violate(st, fmt.Sprintf("the bound of worker %d has gone back", pr.worker))
	case r.bound != pr.bound:
		sr.change(st, func(_ *state, pr *process) { pr.bound = r.bound })
	}
}

// stops seals the grant, whether a write is under way or not.
func (sr *stepper) stops(p int8) {
	sr.abandon(step{kind: stop, process: p}, func(s *state, p int8) {
		s.processes[p].wait()
		s.processes[p].mode = stopped
	})
}

func (sr *stepper) releases(p int8) {
	pr := sr.state.processes[p]
	to := pr.floor
	if sr.state.issued[pr.worker][pr.floor] == p+1 && sr.config.Mutant != ReleaseLast {
		to++
	}
	sr.change(step{kind: release, process: p, worker: pr.worker, a: to}, func(_ *state, pr *process) {
		pr.status, pr.old, pr.to = sent, pr.known(), to
	})
}

// writeSteps is what becomes of the write that a process waits for.
func (sr *stepper) writeSteps(p int8) {
	switch pr := sr.state.processes[p]; pr.status {
	case sent:
		sr.change(step{kind: arrive, process: p}, func(s *state, pr *process) {
			pr.status = refused
			if s.carryOut(pr.message()) {
				pr.status = landed
			}
		})
	case landed, refused:
		sr.change(step{kind: answer, process: p}, func(s *state, _ *process) { s.answered(p, pr.status == landed) })
	default:
		return
	}
	sr.abandon(step{kind: timeout, process: p}, func(s *state, p int8) {
		if sr.config.Mutant == TrustTimeout && s.processes[p].mode != stopped {
			s.answered(p, true)
			return
		}
		s.processes[p].wait()
	})
}

func (pr *process) message() message {
	m := message{pr.worker, pr.old, record{pr.to, pr.token}}
	if pr.mode == stopped {
		m.new.owner = 0
	}
	return m
}

func (s *state) carryOut(m message) bool {
	if s.store[m.worker] != m.old {
		return false
	}
	s.store[m.worker] = m.new
	return true
}

// wait ends the wait for an answer. A claim keeps in mind what it has tried.
func (pr *process) wait() {
	pr.status, pr.old, pr.to = none, record{}, 0
	if pr.mode == claiming {
		pr.worker = 0
	}
}

func (s *state) answered(p int8, written bool) {
	pr := &s.processes[p]
	worker, to := pr.worker, pr.to
	pr.wait()
	switch {
	case !written:
	case pr.mode == claiming:
		pr.hold(worker, to)
	case pr.mode == stopped:
		s.dead(p)
	default:
		pr.bound = to
	}
}

// dead ends a grant for good. Who it was does not matter any more.
func (s *state) dead(p int8) {
	s.processes[p] = process{}
	for w := range s.issued {
		for t, mark := range s.issued[w] {
			if mark == p+1 {
				s.issued[w][t] = byDead
			}
		}
	}
}

// abandon lets a process do something for which it stops waiting for its write.
// If that is on its way, it gets lost, or goes on.
func (sr *stepper) abandon(st step, f func(*state, int8)) {
	pr := sr.state.processes[st.process]
	sr.change(st, func(s *state, _ *process) {
		f(s, st.process)
	})
	room := sr.state.room(sr.config.Late)
	if pr.status != sent || room < 0 {
		return
	}
	st.a = 1
	sr.change(st, func(s *state, _ *process) {
		s.late[room] = pr.message()
		f(s, st.process)
	})
}

func (s *state) room(limit int) int {
	for i := range limit {
		if s.late[i] == empty {
			return i
		}
	}
	return -1
}

func (sr *stepper) lateSteps() {
	for i, m := range sr.state.late {
		if m == empty {
			continue
		}
		sr.change(step{kind: deliver, a: int8(i)}, func(s *state, _ *process) {
			s.late[i] = empty
			s.carryOut(m)
		})
	}
}
