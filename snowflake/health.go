package snowflake

import "time"

// Health returns nil, or why the next ID cannot be made: [ErrClosed],
// [ErrExpired], [ErrClockBackwards], [ErrClockJumped], [ErrFenced], or what the
// source reports, if it has a method Health() error as a lease has. The errors are
// those of [Generator.Next].
//
// Health is for readiness probes, as often as they like: it makes no ID, waits for
// nothing and does not ask the source for a window. A wait that ends without
// help, for the next tick or under [Wait], is not an error. It compares the clocks
// as Next does, so a probe also lets an idle generator take a step back, or
// believe a jump. A source without a method Health that extends its window only
// when asked is fenced from the end of the window until Next or Fill has asked.
func (g *Generator) Health() error {
	err := g.health()
	if g.closing.Load() {
		return ErrClosed
	}
	return err
}

func (g *Generator) health() error {
	r, err := g.nextReservation(1)
	if err != nil {
		return err
	}
	if r.pastWindow && r.grant.expires() {
		return g.expired()
	}
	if source, ok := g.source.(interface{ Health() error }); ok {
		return source.Health()
	}
	if r.pastWindow {
		return r.grant.fenced()
	}
	return nil
}

// Worker returns the datacenter and the worker ID under which the generator
// issues at present. Under a fixed worker they never change; a lease that has lost
// its worker continues under another one.
func (g *Generator) Worker() (datacenter, worker int64) {
	grant := g.grant.Load()
	return grant.datacenter, grant.worker
}

// Stats is what a generator has done so far.
type Stats struct {
	// Issued counts the IDs.
	Issued uint64

	// Waits counts the calls that had to wait for the tick of a slot they had
	// taken. Waiting for a step back to end, or for the source, is not counted.
	Waits uint64

	// BackwardSteps counts the steps back of the wall clock by at least a
	// tick; LargestBackwardStep is the largest of them.
	BackwardSteps       uint64
	LargestBackwardStep time.Duration

	// Refusals counts the calls that returned an error.
	Refusals uint64

	// Lead is how far the last ID's tick is ahead of the wall clock: because
	// callers are waiting for reserved slots, or because a step back is
	// tolerated. It is zero if the tick is not ahead.
	Lead time.Duration
}

// Stats returns what the generator has done so far. The counters are read one
// after the other; each of them only rises.
func (g *Generator) Stats() Stats {
	grant := g.grant.Load()
	s := Stats{
		Waits:    g.waits.Load(),
		Refusals: g.refusals.Load(),
	}
	s.BackwardSteps, s.LargestBackwardStep = g.clock.StepsBack()
	last := g.last()
	g.updateIssued(last)
	wall, _ := g.clock.Read()
	s.Lead = max(0, grant.timeOf(last).Sub(wall))
	s.Issued = g.issued.Load()
	return s
}

// updateIssued brings the count up to date. Slots are counted as skipped before
// they are, so a count in between is too low; the last one is then kept.
func (g *Generator) updateIssued(last slot) {
	issued := int64(last) - g.skipped.Load()
	for {
		shown := g.issued.Load()
		if issued <= int64(shown) || g.issued.CompareAndSwap(shown, uint64(issued)) {
			return
		}
	}
}
