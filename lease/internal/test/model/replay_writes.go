//go:build replay

package model

import (
	"errors"
	"fmt"
)

// token identifies the grant of a write. For the layout's record, which has no token, it
// returns a negative number for the observed process, for example -1 for process 0.
func (e Event) token() int {
	if e.Worker == LayoutWorker {
		return -1 - e.Process
	}
	return e.New.Holder
}

// sent takes the step by which a grant sends a write. It returns an error if the write of the
// model has another old bound or another new bound than the observed write.
func (r *Replay) sent(e Event) error {
	p, ok := r.find(e.token())
	if !ok {
		return errors.New("writes without having read")
	}
	r.writer[e.Process], r.grants[p].readsNext = p, false
	if err := r.sends(p, e); err != nil {
		return err
	}
	pr := r.model(p)
	if pr.status != sent || int64(pr.to) != e.New.Bound || int64(pr.base.bound) != e.Old.Bound {
		return fmt.Errorf("writes %d over %d, unlike %v", e.New.Bound, e.Old.Bound, pr)
	}
	r.calls[e.Call] = call{p, pr.version, e.token()}
	return nil
}

// sends takes the step by which a grant writes. For a released record that is a release,
// before which the grant stops issuing if it has not yet. For any other record of a worker it
// is an extension. For a claim or the layout, sends takes no step, because the step at the
// read, which Replay.loaded has taken, contains the write.
func (r *Replay) sends(p num, e Event) error {
	st := step{kind: extend, process: p, worker: num(e.Worker), a: num(e.New.Bound)}
	switch m := r.model(p).mode; {
	case m == joining || m == claiming:
		return nil
	case !e.New.Released:
		return r.take(st)
	case m != stopped:
		if err := r.take(step{kind: stop, process: p}); err != nil {
			return err
		}
	}
	st.kind = release
	return r.take(st)
}

// landed takes the step in which a write reaches the store: arrive if a grant still waits for
// the write, and deliver if the write is late. It returns an error if the observed store has
// written and the model's store refuses, or the reverse.
func (r *Replay) landed(e Event) error {
	c := r.calls[e.Call]
	st, s := step{kind: arrive, process: c.grant}, &r.sr.state
	w := s.write(c.grant)
	if pr := r.model(c.grant); pr.status != sent || pr.version != c.version {
		i := s.lateWrite(c.version)
		if i < 0 {
			return unknown(e)
		}
		st, w = step{kind: deliver, a: num(i)}, s.late[i]
	}
	if applies := s.store.read(w.worker).version == w.old; applies != e.OK {
		return fmt.Errorf("the store wrote: %v, the model: %v", e.OK, applies)
	}
	return r.take(st)
}

// lateWrite returns the index of the late write of this version, or -1.
func (s *state) lateWrite(version num) int {
	for i, w := range s.late {
		if w != empty && w.new.version == version {
			return i
		}
	}
	return -1
}

// unknown returns an error if a write that the model does not know had an effect.
func unknown(e Event) error {
	if e.OK {
		return errors.New("a write landed, or was acknowledged, that the model does not know")
	}
	return nil
}

// answered takes the acknowledgement of a write, or the end of the wait for it.
func (r *Replay) answered(e Event) error {
	c, ok := r.calls[e.Call]
	pr := r.model(c.grant)
	if ok && r.grants[c.grant].token == c.token { // the grant has not ended since
		r.grants[c.grant].readsNext = !e.OK
	}
	switch {
	case !ok || pr.status == none || pr.version != c.version:
		return unknown(e)
	case !e.OK:
		return r.take(step{kind: timeout, process: c.grant, a: flag(e.Late && pr.status == sent)})
	}
	return r.take(step{kind: answer, process: c.grant})
}

// issued takes the step that issues an ID, for the grant that holds its worker.
func (r *Replay) issued(e Event) error {
	holder := num(-1)
	r.each(e.Process, func(p num) {
		if pr := r.model(p); pr.mode == holding && pr.worker == num(e.Worker) {
			holder = p
		}
	})
	if holder < 0 {
		return fmt.Errorf("issues under worker %d, which it does not hold", e.Worker)
	}
	return r.take(step{kind: issue, process: holder, worker: num(e.Worker), a: num(e.Tick)})
}

// holds returns an error if the bound below which the lease may issue differs from the
// acknowledged bound in the model. It compares them only if the model has a holding grant with
// the token of the event.
func (r *Replay) holds(e Event) error {
	p, ok := r.find(e.Holder)
	if pr := r.model(p); ok && pr.mode == holding && num(e.Tick) != pr.acknowledged {
		return fmt.Errorf("may issue below %d, the model below %d", e.Tick, pr.acknowledged)
	}
	return nil
}

// crashed takes the crash in which the store forgot the last writes of its log.
func (r *Replay) crashed(e Event) error {
	if e.Tick == 0 {
		return nil
	}
	return r.take(step{kind: crash, a: r.sr.state.store.pending - num(e.Tick)})
}
