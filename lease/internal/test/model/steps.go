package model

import "fmt"

// A stepper enumerates all steps of a state.
type stepper struct {
	config  Config
	state   state
	visit   func(step, state)  // receives each step, and the state after it
	violate func(step, string) // receives each step that breaks a rule, and how
	wanted  *step              // set by a Replay: the only step to take
	found   bool               // whether the Replay's step was found and taken
}

// all takes each step that is possible in the state. Check passes a visit, which all calls
// with each step and the next state. A Replay sets wanted, and all then changes the state by
// the wanted step only.
func (sr *stepper) all() {
	for i := range sr.config.Processes {
		p := num(i)
		if sr.wanted != nil && p != sr.wanted.process { // whose steps a Replay does not want
			continue
		}
		sr.processSteps(p)
		sr.writeSteps(p)
		if sr.state.processes[p].mode != idle {
			sr.abandon(step{kind: die, process: p}, (*state).end)
		}
	}
	sr.lateSteps()
	sr.crashes()
	sr.evictions()
	sr.mutantSteps()
}

// isMutant reports whether the search is for this mutant.
func (sr *stepper) isMutant(m Mutant) bool { return sr.config.Mutant == m }

// change calls visit with the step st and with a copy of the state, to which f was applied. In
// a Replay there is no visit. Instead, change applies f to sr.state itself, and only if st is
// the wanted step.
func (sr *stepper) change(st step, f func(*state)) {
	if sr.wanted != nil {
		if st == *sr.wanted && !sr.found {
			sr.found = true
			f(&sr.state)
		}
		return
	}
	next := sr.state
	f(&next)
	sr.visit(st, next)
}

// processSteps takes the steps in which a process issues, stops, or sends a request.
func (sr *stepper) processSteps(p num) {
	pr := sr.state.processes[p]
	if pr.mode == holding || sr.isMutant(IssueAfterRelease) && pr.mode == stopped {
		sr.issues(p)
	}
	if pr.mode == holding || pr.mode == checking {
		sr.stops(p)
	}
	if pr.status == none {
		sr.requests(p)
	}
}

// valuesToTry returns the range of values, from low to high, that a step is tried with.
// For a Replay it narrows the range to the value of the wanted step, or to an empty range
// if that value is not allowed. The function observed is valueA or valueB, which reads the
// value from the step.
func (sr *stepper) valuesToTry(low, high num, observed func(step) num) (from, to num) {
	if sr.wanted == nil {
		return low, high
	}
	if v := observed(*sr.wanted); low <= v && v <= high {
		return v, v
	}
	return 1, 0 // an empty range
}

// valueA returns the field a of a step, for valuesToTry.
func valueA(st step) num { return st.a }

// requests takes the steps of a process that does not wait for an answer.
func (sr *stepper) requests(p num) {
	switch pr := sr.state.processes[p]; pr.mode {
	case idle:
		sr.starts(p)
	case joining:
		sr.joins(p, pr.layout)
	case checking:
		sr.checks(p)
	case claiming:
		if pr.layout != 0 {
			sr.joins(p, pr.layout)
		}
		if !sr.claimsAgain(p) {
			sr.claims(p)
		}
		sr.givesUp(p)
	case holding:
		sr.extends(p)
		sr.reads(p)
	case stopped:
		sr.releases(p)
		sr.reads(p)
		sr.givesUp(p)
	}
}

// claims takes claims of every worker, from every first tick to every bound. A worker that
// is held can be claimed too, because on a suitable clock its bound has passed.
func (sr *stepper) claims(p num) {
	for w := range num(sr.config.Workers) {
		r := sr.state.store.read(w)
		for from := sr.earliest(r); from <= r.bound; from++ {
			for to, end := sr.valuesToTry(from+1, num(sr.config.Ticks), valueA); to <= end; to++ {
				// The field a of the step is to, and the field b is from.
				sr.change(step{claim, p, w, to, from}, func(s *state) {
					pr := &s.processes[p]
					pr.mode = claiming
					pr.tried[w] = max(pr.tried[w], from+1)
					s.send(p, w, baseOf(r), to)
				})
			}
		}
	}
}

// earliest returns the first tick of a window that replaces the record r. That is the bound of
// r. Under the mutant FromNow it is tick 0, because the clock, which may show any time,
// decides.
func (sr *stepper) earliest(r record) num {
	if sr.isMutant(FromNow) {
		return 0
	}
	return r.bound
}

// claimsAgain looks for a record with the claim's own token, which an earlier write without
// an answer has left. If there is one, the claim writes it once more, because only an
// acknowledged write counts. claimsAgain reports whether there is one.
func (sr *stepper) claimsAgain(p num) bool {
	found := false
	for w := range num(sr.config.Workers) {
		r := sr.state.store.read(w)
		if sr.state.processes[p].tried[w] == 0 || !sr.isOwn(p, r) {
			continue
		}
		found = true
		if sr.isMutant(TrustRead) {
			sr.change(step{kind: trust, process: p, worker: w}, func(s *state) { s.processes[p].hold(w, baseOf(r)) })
			continue
		}
		for to, end := sr.valuesToTry(r.bound, num(sr.config.Ticks), valueA); to <= end; to++ {
			sr.change(step{kind: again, process: p, worker: w, a: to}, func(s *state) { s.send(p, w, baseOf(r), to) })
		}
	}
	return found
}

// givesUp takes the steps in which a claim that ends without a worker finds a record with its
// own token. The process then stops, with this record as its base, to release the worker. The
// claim has issued nothing, so the release may restore the bound from which the claim would
// have issued. The release may also write a higher bound, up to the bound of the record,
// because an earlier grant of the same lease may have issued IDs under the worker, and the
// store may have forgotten that grant's record. After a release without an answer, the process
// can give up another worker first.
func (sr *stepper) givesUp(p num) {
	for w := range num(sr.config.Workers) {
		r := sr.state.store.read(w)
		if sr.state.processes[p].tried[w] == 0 || !sr.isOwn(p, r) {
			continue
		}
		sr.change(step{kind: giveUp, process: p, worker: w}, func(s *state) {
			pr := &s.processes[p]
			pr.mode, pr.worker, pr.base, pr.next, pr.acknowledged = stopped, w, baseOf(r), pr.tried[w]-1, r.bound
			if sr.isMutant(GiveUpBelow) {
				pr.next = 0
			}
		})
	}
}

// isOwn reports whether a record has the token of the process's grant, and was not released.
// Under the mutant NoToken, each written record that was not released is taken for the
// process's own.
func (sr *stepper) isOwn(p num, r record) bool {
	if sr.isMutant(NoToken) {
		return r.version != 0 && !r.released
	}
	return r.owner == p+1 && !r.released
}

// extends takes extensions to every bound that is at least the bound of the base and the
// acknowledged bound. For example, a process whose clock was set back writes the same bound.
func (sr *stepper) extends(p num) {
	pr := sr.state.processes[p]
	low := max(pr.base.bound, pr.acknowledged)
	if sr.isMutant(ExtendLower) {
		low = 0
	}
	for to, end := sr.valuesToTry(low, num(sr.config.Ticks), valueA); to <= end; to++ {
		sr.change(step{kind: extend, process: p, worker: pr.worker, a: to}, func(s *state) {
			s.send(p, pr.worker, pr.base, to)
		})
	}
}

// issues takes a step for each tick, from the process's next tick to the last below its
// acknowledged bound, in which the process issues an ID. It may skip ticks, as after a
// pause. The tick is the field a of the step.
func (sr *stepper) issues(p num) {
	pr := sr.state.processes[p]
	end := pr.acknowledged
	if sr.isMutant(TTLOnly) {
		end = num(sr.config.Ticks)
	}
	for t, end := sr.valuesToTry(pr.next, end-1, valueA); t <= end; t++ {
		st := step{kind: issue, process: p, worker: pr.worker, a: t}
		switch {
		case sr.state.issued[pr.worker][t]:
			sr.violate(st, fmt.Sprintf("tick %d of worker %d is issued twice", t, pr.worker))
		case sr.state.layout != 0 && sr.state.layout != pr.layout:
			sr.violate(st, "ticks are issued under two layouts")
		}
		sr.change(st, func(s *state) {
			s.issued[pr.worker][t], s.layout = true, pr.layout
			s.processes[p].next = t + 1
		})
	}
}

// reads takes the step in which the process reads the record of its worker. If the process
// still owns the record, the record becomes the base of the next write. If the bound has
// fallen below the acknowledged bound, the process stops, and is to restore the bound by a
// release. If another process has the worker, or the worker is released, the grant ends.
func (sr *stepper) reads(p num) {
	pr := sr.state.processes[p]
	r := sr.state.store.read(pr.worker)
	sr.change(step{kind: read, process: p, worker: pr.worker}, func(s *state) {
		switch own := sr.isOwn(p, r); {
		case own && (pr.mode == stopped || r.bound >= pr.acknowledged):
			sr.rebase(&s.processes[p], r)
		case own: // the store has forgotten, and the release restores the bound
			p := &s.processes[p]
			p.mode, p.base, p.next = stopped, baseOf(r), pr.acknowledged
		default: // another process has the worker, or it is released
			s.endWorker(p)
		}
	})
}

// rebase makes a record that was read the base of the next write. The bound of the record does
// not become the acknowledged bound, because the record may not be durable. Under the mutants
// TrustRead and TrustReadExtending it does.
func (sr *stepper) rebase(pr *process, r record) {
	pr.base = baseOf(r)
	if sr.isMutant(TrustRead) || sr.isMutant(TrustReadExtending) {
		pr.acknowledged = r.bound
	}
}

// stops takes the step in which a grant stops issuing, with or without a pending write. A
// process that has claimed a worker, but cannot read the layout once more, takes the same
// step. Under the mutant UnreadLayout, this process issues nevertheless.
func (sr *stepper) stops(p num) {
	sr.abandon(step{kind: stop, process: p}, func(s *state, p num) {
		pr := &s.processes[p]
		unread := pr.mode == checking
		pr.stopWaiting()
		pr.mode = stopped
		if unread && sr.isMutant(UnreadLayout) {
			pr.mode = holding
		}
	})
}

// releases takes releases at every bound from the process's next tick, which is above all ticks
// that it has issued, to the acknowledged bound. The bound may be above the next tick, because
// the generator may have reserved ticks without issuing them.
func (sr *stepper) releases(p num) {
	pr := sr.state.processes[p]
	low := pr.next
	if sr.isMutant(ReleaseLast) && low > 0 && sr.state.issued[pr.worker][low-1] {
		low--
	}
	for to, end := sr.valuesToTry(low, max(pr.next, pr.acknowledged), valueA); to <= end; to++ {
		sr.change(step{kind: release, process: p, worker: pr.worker, a: to}, func(s *state) {
			s.send(p, pr.worker, pr.base, to)
		})
	}
}
