//go:build replay

package model

import (
	"fmt"
	"maps"
	"slices"
)

// A View replays the observations of one of several processes on a real store. The
// order of the store's work is unknown. Therefore the view accepts every record that
// the process reads as a write of another process, and only checks what this process
// does with it.
type View struct {
	*Replay
	versions    map[string]num // versions of records, by worker and text
	last        num            // the last version given to a record
	pendingIDs  []Event        // issued by the current call, and not replayed yet
	pendingRead *viewedRead    // the last read, if it is not replayed yet
}

// A viewedRead is a read of the process, and the write that is based on it, or nil. The trace
// shows when the store answered the read. The process acts on the answer a moment later, and
// may issue in between, because IDs are issued in other goroutines. For example, it issues
// below its bound until it has revoked the grant of a worker that reads as lost.
//
// The view therefore replays a read late: when the process next calls the store, which it
// does after it has acted, or when it has issued an ID that it could not issue before the
// read.
type viewedRead struct{ event, next *Event }

// NewView returns a view of a store without records.
func NewView() *View {
	v := &View{Replay: NewReplay(), versions: map[string]num{}, last: 1}
	v.sr.config.Volatile = 0
	return v
}

// Check replays the events of the process. Bounds and ticks may have any unit.
func (v *View) Check(events []Event) error {
	// An event Began makes see reject the IDs of the call before it that could not be issued.
	// So add an event Began after the last call.
	events = rank(append(events, Event{Kind: Began}))
	next, ids := writesAfter(events), issuedBy(events)
	for i := range events {
		err := v.see(&events[i], next[i], ids[i])
		if err == nil {
			err = v.issuePending()
		}
		if err != nil {
			return v.rejected(events, i, err)
		}
	}
	return nil
}

// rank replaces bounds and ticks by their ranks, because the model only compares them.
// The numbers of layouts do not change.
func rank(events []Event) []Event {
	values := []int64{0, 1, 2} // whose ranks are 0, 1 and 2, because layouts have the numbers 1 and 2
	events = slices.Clone(events)
	for i := range events {
		events[i].Records = maps.Clone(events[i].Records)
	}
	each := func(visit func(*int64)) {
		for i := range events {
			e := &events[i]
			visit(&e.Tick)
			visit(&e.Old.Bound)
			visit(&e.New.Bound)
			for key, r := range e.Records {
				visit(&r.Bound)
				e.Records[key] = r
			}
		}
	}
	each(func(n *int64) { values = append(values, *n) })
	slices.Sort(values)
	values = slices.Compact(values)
	each(func(n *int64) {
		i, _ := slices.BinarySearch(values, *n)
		*n = int64(i)
	})
	return events
}

// issuedBy returns, for the beginning of each call, the IDs that the call has issued.
func issuedBy(events []Event) map[int][]Event {
	by, began := map[int][]Event{}, 0
	for i, e := range events {
		switch e.Kind {
		case Began:
			began = i
		case Issued:
			by[began] = append(by[began], e)
		}
	}
	return by
}

// see replays one event. It only keeps a read, which is replayed before the next event of the
// store, or before an ID that needs it; see [viewedRead]. For any other event of the store it
// takes the model's steps at once. next is the write that is based on a read. ids are the IDs
// that the call has issued which the event begins. issuePending takes the steps of these IDs
// during the call. An ID that is left when the next call begins was allowed at no time of it.
func (v *View) see(e, next *Event, ids []Event) error {
	switch {
	case e.Kind == Began:
		if len(v.pendingIDs) > 0 {
			return fmt.Errorf("issued tick %d of worker %d, which it could at no time of the call", v.pendingIDs[0].Tick, v.pendingIDs[0].Worker)
		}
		v.pendingIDs = ids
		return nil
	case e.Kind == Issued:
		return nil
	}
	if err := v.replayRead(); err != nil { // the read before this call of the store
		return err
	}
	switch {
	case e.Kind == Loaded && !e.OK:
		return nil
	case e.Kind == Loaded:
		v.pendingRead = &viewedRead{e, next}
		return nil
	case e.Kind == Sent:
		return v.send(*e)
	case e.Kind == Answered:
		v.arrive(*e)
		err := v.event(*e, next)
		v.noteRefusal(*e)
		return err
	}
	return v.event(*e, next)
}

// noteRefusal notes whether the grant of a write reads its worker next. It does so if the store
// has refused the write. After an error, only a grant that releases its worker reads it. An
// extension that got an error expects the same record at its next try, and a read in between is
// of another claim.
func (v *View) noteRefusal(e Event) {
	c, ok := v.calls[e.Call]
	if ok && v.grants[c.grant].token == c.token {
		v.grants[c.grant].readsNext = e.Refused || !e.OK && v.model(c.grant).mode == stopped
	}
}

// replayRead takes the model's steps for the read that waits for them, if there is one.
func (v *View) replayRead() error {
	read := v.pendingRead
	if read == nil {
		return nil
	}
	v.pendingRead = nil
	v.adopt(*read.event)
	return v.event(*read.event, read.next)
}

// issuePending takes the IDs of the current call, as early as the model allows. The process
// has reported them only at the end of the call. An ID that the model does not allow before
// the last read may come after it, as the first ID after a claim does.
func (v *View) issuePending() error {
	for len(v.pendingIDs) > 0 {
		switch {
		case v.issued(v.pendingIDs[0]) == nil:
			v.pendingIDs = v.pendingIDs[1:]
		case v.pendingRead == nil:
			return nil
		default:
			if err := v.replayRead(); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt makes the store show the records of a read.
func (v *View) adopt(e Event) {
	for _, key := range e.Keys {
		seen, ok := e.Records[key]
		r := record{}
		if ok {
			r = record{bound: num(seen.Bound), version: v.version(key, seen), released: seen.Released}
		}
		if p, ours := v.find(seen.Holder); ours && seen.Holder != 0 {
			r.owner = p + 1
		}
		v.sr.state.store.durable[modelKey(key)] = r
	}
}

// version returns the version of a record, which is the same for equal records of one key.
func (v *View) version(key int, seen Seen) num {
	text := fmt.Sprint(key, seen.Bound, seen.Text)
	if v.versions[text] == 0 {
		v.last++
		v.versions[text] = v.last
	}
	return v.versions[text]
}

// send takes the step of a write, and gives its record the version by which a later
// read recognizes it.
func (v *View) send(e Event) error {
	if err := v.sent(e); err != nil {
		return err
	}
	pr := v.model(v.writer[e.Process])
	pr.version = v.version(e.Worker, e.New)
	v.calls[e.Call] = call{v.writer[e.Process], pr.version, e.token()}
	return nil
}

// arrive lets an acknowledged write land in the model's store. It first sets the version of the
// store's record to the version that the write replaces, because the view does not know which
// writes of other processes came before.
func (v *View) arrive(e Event) {
	if c, ok := v.calls[e.Call]; ok && e.OK {
		w := v.sr.state.write(c.grant)
		v.sr.state.store.durable[w.worker].version = w.old
		// If the model does not know the write, its answer is rejected next.
		_ = v.landed(Event{Call: e.Call, OK: true})
	}
}
