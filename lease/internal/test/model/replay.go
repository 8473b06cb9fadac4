//go:build replay

package model

import (
	"errors"
	"fmt"
)

// A Replay takes the steps of the model that explain the observed events. Each grant of
// an observed process is a process of the model.
type Replay struct {
	Steps int // taken

	sr     stepper             // has the state of the model
	grants [maxProcesses]grant // the grant of each process of the model
	writer map[int]num         // by observed process: the grant that has written last
	calls  map[int]call        // writes by the number of their call
}

// A grant is a grant of an observed process. It is identified by its token. Token zero means
// that the process of the model at this index is free.
type grant struct {
	process, token int
	readsNext      bool // it reads its worker next, because its last write was not acknowledged or, in a view, was refused
}

// A call is a write of a grant, by the process of the model for the grant and the version of
// the new record.
type call struct {
	grant, version num
	token          int
}

// NewReplay returns a replay that starts with a store without records.
func NewReplay() *Replay {
	r := &Replay{writer: map[int]num{}, calls: map[int]call{}}
	r.sr.config = Config{Processes: maxProcesses, Workers: maxWorkers, Ticks: maxTicks - 1, Late: maxLate, Volatile: maxVolatile, Evict: true, Layouts: true}
	r.sr.state.reset()
	return r
}

// Check replays the events, up to the first event that the model does not allow.
func (r *Replay) Check(events []Event) error {
	events = advanceIssues(events)
	next := writesAfter(events)
	for i, e := range events {
		err := r.event(e, next[i])
		if i%breachChecks == 0 || i == len(events)-1 {
			err = errors.Join(err, r.breach())
		}
		if err != nil {
			return r.rejected(events, i, err)
		}
	}
	return nil
}

// breachChecks is the number of events between two checks of the invariant, each of which
// looks at every tick of every worker.
const breachChecks = 5000

// breach returns an error if the invariant does not hold.
func (r *Replay) breach() error {
	if what := r.sr.state.breach(); what != "" {
		return errors.New(what)
	}
	return nil
}

// event takes the steps that explain an event. If the event is a read, next is the write
// that is based on it, or nil.
func (r *Replay) event(e Event, next *Event) error {
	switch e.Kind {
	case Loaded:
		return r.loaded(e, next)
	case Sent:
		return r.sent(e)
	case Landed:
		return r.landed(e)
	case Answered:
		return r.answered(e)
	case Issued:
		return r.issued(e)
	case Holds:
		return r.holds(e)
	case Died:
		return r.end(e.Process, e.Late, func(mode) bool { return true }) // in every mode
	case Crashed:
		return r.crashed(e)
	case Operated:
		return r.take(step{kind: evict, worker: num(e.Worker), b: num(e.New.Bound)})
	}
	return fmt.Errorf("unknown kind %q", e.Kind)
}

// take takes one step, which the model must allow.
func (r *Replay) take(st step) error {
	var violation string
	r.sr.wanted, r.sr.found = &st, false
	r.sr.violate = func(_ step, what string) { violation = what }
	r.sr.all()
	pr := r.model(st.process)
	switch {
	case violation != "":
		return errors.New(violation)
	case !r.sr.found:
		return fmt.Errorf("the model does not allow that %s (%v)", st.describe(ownNames()), pr)
	case pr.mode == idle: // the step has ended the grant
		r.grants[st.process] = grant{}
	}
	r.Steps++
	return nil
}

// model returns the process of the model for a grant.
func (r *Replay) model(p num) *process { return &r.sr.state.processes[p] }

// grantOf returns the process of the model for the grant of a token. A new token starts
// another grant. If no process of the model is free for it, grantOf first ends the earlier
// claims of the observed process, which has only one claim at a time. It keeps them until then,
// because a claim that has given up can still release its workers.
func (r *Replay) grantOf(process, token int) (num, error) {
	if p, ok := r.find(token); ok {
		return p, nil
	}
	p, ok := r.find(0)
	if !ok {
		if err := r.end(process, false, func(m mode) bool { return m == joining || m == claiming }); err != nil {
			return 0, err
		}
		if p, ok = r.find(0); !ok {
			return 0, errors.New("too many grants at once")
		}
	}
	r.grants[p] = grant{process: process, token: token}
	return p, nil
}

// find returns the process of the model whose grant has this token. Token 0 finds a free
// process.
func (r *Replay) find(token int) (num, bool) {
	for p, g := range r.grants {
		if g.token == token {
			return num(p), true
		}
	}
	return 0, false
}

// each calls visit for the grants of an observed process.
func (r *Replay) each(process int, visit func(p num)) {
	for p, g := range r.grants {
		if g.token != 0 && g.process == process {
			visit(num(p))
		}
	}
}

// end ends each grant of an observed process for whose mode the function in returns true. If
// late is true, a write that such a grant has sent may still land.
func (r *Replay) end(process int, late bool, in func(mode) bool) (err error) {
	r.each(process, func(p num) {
		if pr := r.model(p); in(pr.mode) {
			err = errors.Join(err, r.take(step{kind: die, process: p, a: flag(late && pr.status == sent)}))
		}
	})
	return err
}

// flag returns b as a number, for the field a of a step. In a step of kind die or timeout, a is
// 1 if the write of the process is still on its way.
func flag(b bool) num {
	if b {
		return 1
	}
	return 0
}
