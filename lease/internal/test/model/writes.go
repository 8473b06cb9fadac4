package model

// writeSteps takes the steps of the write that a process waits for.
func (sr *stepper) writeSteps(p num) {
	switch sr.state.processes[p].status {
	case none:
		return
	case sent:
		sr.change(step{kind: arrive, process: p}, func(s *state) { sr.arrives(s, p) })
	case landed:
		sr.change(step{kind: answer, process: p}, func(s *state) {
			s.store.acknowledge(s.processes[p].version)
			s.useWritten(p)
		})
	}
	sr.abandon(step{kind: timeout, process: p}, func(s *state, p num) {
		if sr.isMutant(TrustTimeout) && s.processes[p].mode != stopped {
			s.useWritten(p)
			return
		}
		s.processes[p].stopWaiting()
	})
}

// arrives lets the write of a process land. If it is refused, the process stops waiting
// and reads again, as after a timeout.
func (sr *stepper) arrives(s *state, p num) {
	if s.store.land(s.write(p), sr.config.Volatile) {
		s.processes[p].status = landed
		return
	}
	s.processes[p].stopWaiting()
}

// abandon takes a step, such as a death, with which a process stops waiting for its write, if
// it waits for one. f changes the state of the process. If the write is still on its way, it
// gets lost, or it becomes a late write. In the second case the field a of the step is 1.
func (sr *stepper) abandon(st step, f func(*state, num)) {
	sr.change(st, func(s *state) { f(s, st.process) })
	room := sr.state.freeLatePlace(sr.config.Late)
	if sr.state.processes[st.process].status != sent || room < 0 {
		return
	}
	st.a = 1
	sr.change(st, func(s *state) {
		s.late[room] = s.write(st.process)
		f(s, st.process)
	})
}

// lateSteps takes, for each late write, the step in which the write reaches the store.
func (sr *stepper) lateSteps() {
	for i, w := range sr.state.late {
		if w == empty {
			continue
		}
		sr.change(step{kind: deliver, a: num(i)}, func(s *state) {
			s.late[i] = empty
			s.store.land(w, sr.config.Volatile)
		})
	}
}

// crashes takes each point at which the log may end after a crash.
func (sr *stepper) crashes() {
	for kept := range sr.state.store.pending {
		sr.change(step{kind: crash, a: kept}, func(s *state) { s.crash(kept) })
	}
}

// crash forgets the writes of the log after the first kept writes. A process never gets an
// answer to a write that was forgotten, so that it stops waiting.
func (s *state) crash(kept num) {
	for i := range s.processes {
		if pr := &s.processes[i]; pr.status == landed && s.store.position(pr.version) >= kept {
			pr.stopWaiting()
		}
	}
	s.store.truncate(kept)
}

// evictions lets an operator take each worker from its holder and raise its bound, or
// lower the bound of a worker without holder.
func (sr *stepper) evictions() {
	if !sr.config.Evict || sr.wanted != nil && sr.wanted.kind != evict {
		return
	}
	for w := range num(sr.config.Workers) {
		r := sr.state.store.read(w)
		high := min(r.bound+1, num(sr.config.Ticks))
		if sr.wanted != nil {
			high = num(sr.config.Ticks) // because a real operator may raise a bound by many ticks
		}
		for to, end := sr.valuesToTry(sr.lowest(w, r), high, valueB); to <= end; to++ {
			if sr.wanted != nil || to != r.bound || r.isHeld() { // otherwise only the version would change
				sr.evicts(w, r, to)
			}
		}
	}
}

// lowest returns the lowest bound that an operator may set for a worker whose record is r. That
// is the current bound if the record has a holder, if a process has the worker and has not yet
// released it, or if a process gets the worker with the answer to a write that has landed.
// Otherwise the lowest bound is the tick after the last issued tick.
func (sr *stepper) lowest(worker num, r record) num {
	for _, pr := range sr.state.processes {
		mayIssue := pr.worker == worker && (pr.mode > claiming || pr.status == landed)
		if r.isHeld() || mayIssue && !sr.isMutant(LowerHeld) {
			return r.bound
		}
	}
	low := r.bound
	for low > 0 && !sr.state.issued[worker][low-1] {
		low--
	}
	return low
}

// valueB returns the field b of a step, for valuesToTry.
func valueB(st step) num { return st.b }

// evicts takes two alternative steps. The operator's write of the bound to lands at once or, if
// there is a place for another late write, stays on its way.
func (sr *stepper) evicts(worker num, r record, to num) {
	// The record keeps its owner, and is marked as released.
	eviction := write{worker, r.version, record{to, r.owner, sr.state.fresh(), true}}
	st := step{kind: evict, worker: worker, b: to}
	sr.change(st, func(s *state) { s.store.land(eviction, sr.config.Volatile) })
	if room := sr.state.freeLatePlace(sr.config.Late); room >= 0 {
		st.a = 1 // the write is still on its way
		sr.change(st, func(s *state) { s.late[room] = eviction })
	}
}
