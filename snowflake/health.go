package snowflake

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
