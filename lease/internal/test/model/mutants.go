package model

// A Mutant is a mistake in the protocol, or a world in which no protocol is safe.
type Mutant string

// The mutants. Each lets a tick be issued twice, or under two layouts.
const (
	Unchanged          Mutant = ""
	FromNow            Mutant = "from-now"             // a window begins at the clock, although the old bound is ahead of it
	TTLOnly            Mutant = "ttl-only"             // the bound is not checked when issuing
	TrustTimeout       Mutant = "trust-timeout"        // a write without an answer counts
	TrustRead          Mutant = "trust-read"           // a record that was read counts
	TrustReadExtending Mutant = "trust-read-extending" // a record that was read counts, except in a claim
	TrustLayout        Mutant = "trust-layout"         // a layout that was read counts
	SameLayout         Mutant = "same-layout"          // a layout that reads the same twice counts, even if it was written twice
	UnreadLayout       Mutant = "unread-layout"        // a claim that cannot read the layout once more issues nevertheless
	ExtendLower        Mutant = "extend-lower"         // an extension may lower the bound
	NoToken            Mutant = "no-token"             // the owner is the host's name
	GiveUpBelow        Mutant = "give-up-below"        // a claim that gives up releases its worker below the bound that it found
	IssueAfterRelease  Mutant = "issue-after-release"  // the process issues while it releases the worker
	ReleaseLast        Mutant = "release-last"         // a worker is released at its last tick, not above it
	LowerHeld          Mutant = "lower-held"           // an operator lowers the bound of a worker whose holder may still issue
	Lossy              Mutant = "lossy"                // the store forgets acknowledged writes
	Fork               Mutant = "fork"                 // a process is copied with its lease
)

// Mutants returns all mutants except Unchanged.
func Mutants() []Mutant {
	return []Mutant{
		FromNow, TTLOnly, TrustTimeout, TrustRead, TrustReadExtending, TrustLayout, SameLayout, UnreadLayout,
		ExtendLower, NoToken, GiveUpBelow, IssueAfterRelease, ReleaseLast, LowerHeld, Lossy, Fork,
	}
}

// mutantSteps takes the steps that only the world of a mutant has.
func (sr *stepper) mutantSteps() {
	switch sr.config.Mutant {
	case Lossy:
		sr.forgets()
	case Fork:
		sr.forks()
	}
}

// forgets takes, for each durable record, the step in which the store forgets this record, and
// all writes that are not durable.
func (sr *stepper) forgets() {
	for w, r := range sr.state.store.durable {
		if r != (record{}) {
			sr.change(step{kind: forget, worker: num(w)}, func(s *state) {
				s.crash(0)
				s.store.durable[w] = record{}
			})
		}
	}
}

// forks takes each step in which an idle process becomes a copy of a process that is not idle.
func (sr *stepper) forks() {
	for i := range sr.config.Processes {
		for j := range sr.config.Processes {
			if sr.state.processes[i].mode != idle || sr.state.processes[j].mode == idle {
				continue
			}
			sr.change(step{kind: clone, process: num(i), a: num(j)}, func(s *state) {
				s.processes[i] = s.processes[j]
				s.processes[i].stopWaiting()
			})
		}
	}
}
