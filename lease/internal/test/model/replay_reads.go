//go:build replay

package model

import (
	"cmp"
	"fmt"
)

// loaded takes the step of the model that contains a read. For example, a step of kind claim
// contains a read and the write that follows. The keys of the read, and next, which is the
// write that is based on it or nil, show which step that is.
func (r *Replay) loaded(e Event, next *Event) error {
	if !e.OK {
		return nil
	}
	if err := r.sameRecords(e); err != nil {
		return err
	}
	switch {
	case len(e.Keys) == 1 && e.Keys[0] == LayoutWorker: // after a claim
		return r.checks(e.Process)
	case len(e.Keys) == 1: // of its own worker
		return r.reloads(e, next)
	case next == nil:
		return nil // the process did not use the answer
	case next.Worker == LayoutWorker:
		_, err := r.joins(e.Process, next.token(), num(next.New.Bound))
		return err
	}
	return r.claims(e, next)
}

// sameRecords returns an error if the read shows other bounds than the model's store.
func (r *Replay) sameRecords(e Event) error {
	for key, seen := range e.Records {
		if got := r.sr.state.store.read(modelKey(key)); int64(got.bound) != seen.Bound {
			return fmt.Errorf("worker %d reads as bound %d, the model's as %d", key, seen.Bound, got.bound)
		}
	}
	return nil
}

// modelKey returns the index of the record with this key in the model's store.
func modelKey(key int) num {
	if key == LayoutWorker {
		return layoutKey
	}
	return num(key)
}

// checks takes the read of the layout after a claim, if a grant of the process waits
// for it.
func (r *Replay) checks(process int) (err error) {
	r.each(process, func(p num) {
		if r.model(p).mode == checking {
			err = r.take(step{kind: check, process: p})
		}
	})
	return err
}

// reloads takes a read of one worker. A claim that has given up reads a worker that it then
// releases. A grant reads its worker after a write that was not acknowledged. Other reads of
// a single worker take no step. For example, a claim that has given up looks for a late write
// of its own, and finds the record of another grant.
func (r *Replay) reloads(e Event, next *Event) error {
	if next != nil {
		p, ok := r.find(next.token())
		if pr := r.model(p); ok && (pr.mode == claiming || pr.mode == stopped && pr.worker != num(next.Worker)) {
			return r.take(step{kind: giveUp, process: p, worker: num(next.Worker)})
		}
	}
	p := r.writer[e.Process]
	pr := r.model(p)
	if r.grants[p].process != e.Process || !r.grants[p].readsNext || pr.worker != num(e.Keys[0]) || pr.mode != holding && pr.mode != stopped {
		return nil
	}
	return r.take(step{kind: read, process: p, worker: pr.worker})
}

// joins takes the step that reads or writes the layout, for the claim of a token. It
// returns the process of the model that claims.
func (r *Replay) joins(process, token int, layout num) (num, error) {
	p, err := r.grantOf(process, token)
	if err != nil || r.model(p).mode > claiming { // a grant that has its worker does not join again
		return p, err
	}
	return p, r.take(step{kind: join, process: p, a: layout})
}

// claims takes a read of many workers on which a write is based.
func (r *Replay) claims(e Event, next *Event) error {
	layout := cmp.Or(e.Layout, e.Records[LayoutWorker].Bound)
	p, err := r.joins(e.Process, next.token(), num(layout))
	if err != nil || r.model(p).mode != claiming {
		return err // or the read was not used, because another grant of the process writes next
	}
	st := step{kind: claim, process: p, worker: num(next.Worker), a: num(next.New.Bound)}
	found := r.sr.state.store.read(st.worker)
	if r.model(p).tried[st.worker] != 0 && r.sr.isOwn(p, found) {
		st.kind = again
	} else {
		st.b = found.bound
	}
	return r.take(st)
}
