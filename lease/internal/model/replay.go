//go:build replay

package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Replay takes the steps of the model that explain what was observed. Each grant of
// an observed process is a process of the model.
type Replay struct {
	Steps int // taken

	sr      stepper
	grants  map[int]num   // by the number of their token
	claimer map[int]num   // of each observed process, its grant that has no worker yet
	writer  map[int]num   // of each observed process, its grant that has written last
	calls   map[int]write // what was sent and may land or be answered: its sender as owner
	owned   map[int][]num // by observed process
}

// NewReplay returns one of a store without records.
func NewReplay() *Replay {
	r := &Replay{grants: map[int]num{}, claimer: map[int]num{}, writer: map[int]num{}, calls: map[int]write{}, owned: map[int][]num{}}
	r.sr = stepper{
		config: Config{Processes: maxProcesses, Workers: maxWorkers, Ticks: maxTicks - 1, Late: maxLate, Volatile: maxVolatile, Evict: true, Layouts: true},
		state:  initial(),
	}
	return r
}

// Rejected is a trace that the model does not allow.
type Rejected struct {
	At     int // the index of the event
	Last   []Event
	Grants []string // of the event's process, as the model sees them
	Why    error
}

func (e *Rejected) Error() string {
	var s strings.Builder
	_, _ = fmt.Fprintf(&s, "event %d: %v\n", e.At, e.Why)
	for _, g := range e.Grants {
		_, _ = fmt.Fprintf(&s, "  the model's %s\n", g)
	}
	for _, event := range e.Last {
		_, _ = fmt.Fprintf(&s, "  %v\n", event)
	}
	return s.String()
}

func (e *Rejected) Unwrap() error { return e.Why }

const (
	shown        = 20   // events of a process before the rejected one
	breachChecks = 5000 // events between two checks of the invariant
)

// Check replays all events. The first one that the model does not allow is a
// [Rejected] error.
func (r *Replay) Check(events []Event) error {
	events = advanceIssues(events)
	next := writesAfter(events)
	for i, e := range events {
		err := r.event(e, next[i])
		if err == nil && (i%breachChecks == 0 || i == len(events)-1) {
			if what := r.sr.state.breach(); what != "" {
				err = errors.New(what)
			}
		}
		if err != nil {
			return r.rejected(events, i, err)
		}
	}
	return nil
}

func (r *Replay) rejected(events []Event, at int, why error) error {
	e := &Rejected{At: at, Why: why}
	for i := at; i >= 0 && len(e.Last) < shown; i-- {
		if events[i].Process == events[at].Process || events[i].Kind == Crashed || events[i].Kind == Operated {
			e.Last = append(e.Last, events[i])
		}
	}
	slices.Reverse(e.Last)
	for _, p := range r.owned[events[at].Process] {
		e.Grants = append(e.Grants, r.sr.state.processes[p].String())
	}
	return e
}

func (pr process) String() string {
	modes := [...]string{"idle", "joining", "claiming", "checking", "holding", "stopped"}
	return fmt.Sprintf("grant is %s: worker %d, issues from %d below %d, base %v, write %d (%d) to %d",
		modes[pr.mode], pr.worker, pr.next, pr.acknowledged, pr.base, pr.version, pr.status, pr.to)
}

// advanceIssues moves what a process issued while a read was on its way back to it
// before that read: the two commute, and the model reads in one step.
func advanceIssues(events []Event) []Event {
	out := make([]Event, 0, len(events))
	open := map[int]int{} // by process, the index in out of the answered read
	for _, e := range events {
		at, reading := open[e.Process]
		switch {
		case e.Kind == Loaded && e.OK:
			open[e.Process] = len(out)
		case e.Kind == Answered:
			delete(open, e.Process)
		case reading && (e.Kind == Issued || e.Kind == Holds):
			out = slices.Insert(out, at, e)
			for p := range open {
				if open[p] >= at {
					open[p]++
				}
			}
			continue
		}
		out = append(out, e)
	}
	return out
}

// writesAfter finds, for each read, the write that was based on it.
func writesAfter(events []Event) map[int]*Event {
	last, after := map[int]int{}, map[int]*Event{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case Loaded:
			if e.OK {
				last[e.Process] = i
			}
		case Sent:
			if at, ok := last[e.Process]; ok {
				after[at] = e
			}
			delete(last, e.Process)
		case Died:
			delete(last, e.Process)
		}
	}
	return after
}

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
		return r.died(e)
	case Crashed:
		if e.Tick == 0 {
			return nil
		}
		return r.take(step{kind: crash, a: r.sr.state.store.pending - num(e.Tick)})
	case Operated:
		return r.take(step{kind: evict, worker: num(e.Worker), b: num(e.New.Bound)})
	}
	return fmt.Errorf("unknown kind %q", e.Kind)
}

// take takes one step, which the model must allow.
func (r *Replay) take(st step) error {
	var violation string
	r.sr.taken, r.sr.took = &st, false
	r.sr.violate = func(_ step, what string) { violation = what }
	switch p := st.process; st.kind {
	case arrive, answer, timeout:
		r.sr.writeSteps(p)
	case die:
		r.sr.abandon(step{kind: die, process: p}, (*state).end)
	case deliver:
		r.sr.lateSteps()
	case crash:
		r.sr.crashes()
	case evict:
		r.sr.evictions()
	default:
		r.sr.processSteps(p)
	}
	switch {
	case violation != "":
		return errors.New(violation)
	case !r.sr.took:
		return fmt.Errorf("the model does not allow that %s (%v)", st.describe(same()), r.sr.state.processes[st.process])
	}
	r.Steps++
	return nil
}

// loaded takes the step that a read is part of. The keys show which read it is.
func (r *Replay) loaded(e Event, next *Event) error {
	if !e.OK {
		return nil
	}
	if err := r.sameRecords(e); err != nil {
		return err
	}
	claimer, claims := r.claimer[e.Process]
	switch {
	case len(e.Keys) == 1 && e.Keys[0] == LayoutWorker:
		if claims && r.sr.state.processes[claimer].mode == checking {
			err := r.take(step{kind: check, process: claimer})
			r.settle(e.Process, claimer)
			return err
		}
		return nil // after a layout that was written: the next read joins
	case len(e.Keys) == 1:
		return r.reloaded(e)
	case next == nil:
		return nil // nothing came of it
	case next.Worker == LayoutWorker:
		return r.joins(e.Process, num(next.New.Bound))
	}
	return r.claims(e, next)
}

func (r *Replay) sameRecords(e Event) error {
	for key, seen := range e.Records {
		if got := r.sr.state.store.read(modelKey(key)); int64(got.bound) != seen.Bound {
			return fmt.Errorf("worker %d reads as bound %d, the model's as %d", key, seen.Bound, got.bound)
		}
	}
	return nil
}

func modelKey(key int) num {
	if key == LayoutWorker {
		return layoutKey
	}
	return num(key)
}

// settle takes a grant that has its worker off the claimers, and forgets one that has
// ended.
func (r *Replay) settle(process int, p num) {
	switch r.sr.state.processes[p].mode {
	case joining, claiming:
		r.claimer[process] = p
	case idle:
		r.forget(process, p)
	case holding, stopped:
		if r.claimer[process] == p {
			delete(r.claimer, process)
		}
	}
}

func (r *Replay) forget(process int, p num) {
	if r.claimer[process] == p {
		delete(r.claimer, process)
	}
	for token, q := range r.grants {
		if q == p {
			delete(r.grants, token)
		}
	}
	r.owned[process] = slices.DeleteFunc(r.owned[process], func(q num) bool { return q == p })
}

// reloaded is a read of one worker, by the grant whose write of it failed.
func (r *Replay) reloaded(e Event) error {
	p, ok := r.writer[e.Process]
	if !ok || !slices.Contains(r.owned[e.Process], p) {
		return nil
	}
	pr := &r.sr.state.processes[p]
	if pr.worker != num(e.Keys[0]) || pr.mode != holding && pr.mode != stopped {
		return nil
	}
	err := r.take(step{kind: read, process: p, worker: pr.worker})
	r.settle(e.Process, p)
	return err
}

// joins makes a claimer that has no token yet write its layout.
func (r *Replay) joins(process int, layout num) error {
	p, ok := r.claimer[process]
	if ok && r.sr.state.processes[p].mode == claiming {
		if r.sr.state.processes[p].tried != [maxWorkers]num{} {
			return errors.New("writes a layout after it has claimed a worker")
		}
		if err := r.die(process, p, false); err != nil {
			return err
		}
		ok = false
	}
	if !ok {
		var err error
		if p, err = r.fresh(process); err != nil {
			return err
		}
	}
	return r.take(step{kind: join, process: p, a: layout})
}

func (r *Replay) fresh(process int) (num, error) {
	for i := range r.sr.state.processes {
		p := num(i)
		if r.sr.state.processes[p].mode == idle && !r.isOwned(p) {
			r.claimer[process] = p
			r.owned[process] = append(r.owned[process], p)
			return p, nil
		}
	}
	return 0, errors.New("too many grants at once")
}

func (r *Replay) isOwned(p num) bool {
	for _, ps := range r.owned {
		if slices.Contains(ps, p) {
			return true
		}
	}
	return false
}

// claims is a read of many workers, on which a write is based. Another token than the
// claimer's shows that its claim has ended.
func (r *Replay) claims(e Event, next *Event) error {
	token := next.New.Holder
	p, known := r.grants[token]
	if !known {
		var err error
		if p, err = r.newClaim(e, token); err != nil {
			return err
		}
	}
	if r.sr.state.processes[p].mode != claiming {
		return nil // nothing came of it: another grant of the process writes next
	}
	w := num(next.Worker)
	found := r.sr.state.store.read(w)
	if pr := r.sr.state.processes[p]; pr.mode == claiming && pr.tried[w] != 0 && r.sr.own(p, found) {
		return r.take(step{kind: again, process: p, worker: w, a: num(next.New.Bound)})
	}
	return r.take(step{kind: claim, process: p, worker: w, a: num(next.New.Bound), b: found.bound})
}

func (r *Replay) newClaim(e Event, token int) (num, error) {
	p, ok := r.claimer[e.Process]
	if ok && r.hasToken(p) {
		if err := r.die(e.Process, p, false); err != nil {
			return 0, err
		}
		ok = false
	}
	if !ok {
		var err error
		if p, err = r.fresh(e.Process); err != nil {
			return 0, err
		}
	}
	r.grants[token] = p
	if mode := r.sr.state.processes[p].mode; mode == claiming {
		return p, nil
	}
	return p, r.take(step{kind: join, process: p, a: num(e.Records[LayoutWorker].Bound)})
}

// hasToken reports whether a claim has written under a token. After a loss it has
// none yet: what it knows of the lost worker counts for the next one.
func (r *Replay) hasToken(p num) bool {
	for _, q := range r.grants {
		if q == p {
			return true
		}
	}
	return false
}

func (r *Replay) sent(e Event) error {
	p, ok := r.grants[e.New.Holder]
	if e.Worker == LayoutWorker {
		p, ok = r.claimer[e.Process]
	}
	if !ok {
		return errors.New("writes without having read")
	}
	r.writer[e.Process] = p
	if err := r.sends(p, e); err != nil {
		return err
	}
	pr := r.sr.state.processes[p]
	if pr.status != sent || int64(pr.to) != e.New.Bound || int64(pr.base.bound) != e.Old.Bound {
		return fmt.Errorf("writes %d over %d, unlike %v", e.New.Bound, e.Old.Bound, pr)
	}
	r.calls[e.Call] = write{modelKey(e.Worker), 0, record{version: pr.version, owner: p}}
	return nil
}

// sends takes the steps by which a grant writes. Joining and claiming are taken at the
// read.
func (r *Replay) sends(p num, e Event) error {
	pr := &r.sr.state.processes[p]
	st := step{kind: extend, process: p, worker: num(e.Worker), a: num(e.New.Bound)}
	switch {
	case pr.mode == joining || pr.mode == claiming:
		return nil
	case !e.New.Released:
		return r.take(st)
	case pr.mode != stopped:
		if err := r.take(step{kind: stop, process: p}); err != nil {
			return err
		}
		r.settle(e.Process, p)
	}
	st.kind = release
	return r.take(st)
}

func (r *Replay) landed(e Event) error {
	call, ok := r.calls[e.Call]
	if !ok {
		return r.unknown(e)
	}
	s := &r.sr.state
	p := call.new.owner
	if pr := &s.processes[p]; pr.status == sent && pr.version == call.new.version {
		if err := r.take(step{kind: arrive, process: p}); err != nil {
			return err
		}
		if is := pr.status == landed; is != e.OK {
			return fmt.Errorf("the store wrote: %v, the model: %v", e.OK, is)
		}
		return nil
	}
	delete(r.calls, e.Call)
	for i, w := range s.late {
		if w == empty || w.new.version != call.new.version {
			continue
		}
		if is := s.store.read(w.worker).version == w.old; is != e.OK {
			return fmt.Errorf("the store wrote late: %v, the model: %v", e.OK, is)
		}
		return r.take(step{kind: deliver, a: num(i)})
	}
	return r.unknown(e)
}

func (r *Replay) unknown(e Event) error {
	if e.OK {
		return errors.New("a write landed, or was acknowledged, that the model does not know")
	}
	return nil
}

func (r *Replay) answered(e Event) error {
	call, ok := r.calls[e.Call]
	if !ok {
		return r.unknown(e)
	}
	if !e.Late {
		delete(r.calls, e.Call)
	}
	p := call.new.owner
	pr := &r.sr.state.processes[p]
	switch {
	case pr.status == none || pr.version != call.new.version:
		return r.unknown(e)
	case !e.OK:
		return r.take(step{kind: timeout, process: p, a: flag(e.Late && pr.status == sent)})
	}
	err := r.take(step{kind: answer, process: p})
	r.settle(e.Process, p)
	return err
}

func flag(b bool) num {
	if b {
		return 1
	}
	return 0
}

// issued looks for the grant whose worker it is.
func (r *Replay) issued(e Event) error {
	for _, p := range r.owned[e.Process] {
		if pr := r.sr.state.processes[p]; pr.mode == holding && pr.worker == num(e.Worker) {
			return r.take(step{kind: issue, process: p, worker: pr.worker, a: num(e.Tick)})
		}
	}
	return fmt.Errorf("issues under worker %d, which it does not hold", e.Worker)
}

func (r *Replay) holds(e Event) error {
	p, ok := r.grants[e.Holder]
	if !ok {
		return nil
	}
	if pr := r.sr.state.processes[p]; pr.mode == holding && num(e.Tick) != pr.acknowledged {
		return fmt.Errorf("may issue below %d, the model below %d", e.Tick, pr.acknowledged)
	}
	return nil
}

func (r *Replay) died(e Event) error {
	for _, p := range slices.Clone(r.owned[e.Process]) {
		if err := r.die(e.Process, p, e.Late); err != nil {
			return err
		}
	}
	return nil
}

func (r *Replay) die(process int, p num, late bool) error {
	pr := r.sr.state.processes[p]
	defer r.forget(process, p)
	if pr.mode == idle {
		return nil
	}
	return r.take(step{kind: die, process: p, a: flag(late && pr.status == sent)})
}
