package snowflake

import "time"

// Health returns nil, or the error with which the next ID would fail: [ErrClosed],
// [ErrExpired], [ErrClockBackwards], [ErrClockJumped] or [ErrFenced], as [Generator.Next]
// returns them. If the source has a method Health() error, as a lease has, Health can also
// return the error of that method.
//
// Health is for readiness probes and may be called often. It makes no ID, does not wait
// and does not ask the source for a window. A wait that ends on its own, for the next
// tick or under [Wait], is not an error. Health compares the clocks as Next does, so a
// probe also lets an idle generator follow a step back, or believe a jump. If a source
// has no method Health and extends its window only when asked, Health returns ErrFenced
// from the end of the window until Next or Fill has asked.
func (g *Generator) Health() error {
	err := g.health()
	if g.closing.Load() {
		return ErrClosed
	}
	return err
}

// health returns the error with which the next ID would fail, or nil. It may miss a Close that
// begins in the meantime, for which Health checks afterwards.
func (g *Generator) health() error {
	r, err := g.nextReservation(1)
	if err != nil {
		return err
	}
	if r.pastWindow && r.grant.endsWithLayout() { // an error even if the source is healthy
		return g.expiredError()
	}
	if source, ok := g.source.(interface{ Health() error }); ok {
		return source.Health()
	}
	if r.pastWindow {
		return r.grant.fencedError()
	}
	return nil
}

// Worker returns the datacenter and the worker ID under which the generator currently
// issues. Under a fixed worker they never change. After a lease has lost its worker,
// they are those of its next worker.
func (g *Generator) Worker() (datacenter, worker int64) {
	grant := g.grant.Load()
	return grant.datacenter, grant.worker
}

// Stats are the counts of a generator since its creation.
type Stats struct {
	// Issued counts the IDs.
	Issued uint64

	// Waits counts the calls that had to wait for the tick of a slot they had taken. It
	// does not count waits for the end of a step back, or for the source.
	Waits uint64

	// BackwardSteps counts the steps back of the wall clock by at least a tick.
	// LargestBackwardStep is the largest of them.
	BackwardSteps       uint64
	LargestBackwardStep time.Duration

	// Refusals counts the calls that returned an error.
	Refusals uint64

	// Lead is how far the last ID's tick is ahead of the wall clock, because callers
	// are waiting for reserved slots, or because a step back is tolerated. It is zero
	// if the tick is not ahead.
	Lead time.Duration
}

// Stats returns the counts of the generator. It reads the counters one after the other.
// Each counter only rises.
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

// updateIssued updates g.issued, the number of IDs that Stats returns. The number is the last
// slot minus the skipped slots. A call adds to the skipped slots before it moves the state past
// them, so that the difference is too low in between. updateIssued then keeps the earlier
// number, because the number must only rise.
func (g *Generator) updateIssued(last slot) {
	issued := int64(last) - g.skipped.Load()
	for { // until no other call of Stats changes the number in between
		earlier := g.issued.Load()
		if issued <= int64(earlier) || g.issued.CompareAndSwap(earlier, uint64(issued)) {
			return
		}
	}
}
