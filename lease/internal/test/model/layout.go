package model

// starts lets an idle process claim a worker. If there are layouts, the process first reads
// or writes the store's layout, under either of its own two.
func (sr *stepper) starts(p num) {
	if !sr.config.Layouts {
		sr.claims(p)
		return
	}
	sr.joins(p, 1)
	sr.joins(p, 2)
}

// joins reads the layout of the store, writes it if it is absent, and refuses another
// layout. A claim does so before each of its writes.
func (sr *stepper) joins(p, layout num) {
	st := step{kind: join, process: p, a: layout}
	switch r := sr.state.store.read(layoutKey); {
	case r.version == 0:
		sr.change(st, func(s *state) {
			s.processes[p] = process{mode: joining, layout: layout}
			s.send(p, layoutKey, baseOf(r), layout)
		})
	case r.bound == layout: // there is no step for another layout
		sr.change(st, func(s *state) {
			pr := &s.processes[p]
			pr.mode, pr.layout, pr.joined = claiming, layout, r.version
		})
	}
}

// checks reads the layout once more, after the claim was acknowledged. The
// acknowledgement has made the layout's record durable, because both are in one log. If
// a crash came before, the record is gone or another, and the process releases the
// worker.
func (sr *stepper) checks(p num) {
	r := sr.state.store.read(layoutKey)
	sr.change(step{kind: check, process: p}, func(s *state) {
		pr := &s.processes[p]
		same := r.version == pr.joined || sr.isMutant(SameLayout) && r.bound == pr.layout
		if !same && !sr.isMutant(TrustLayout) {
			pr.mode = stopped
			return
		}
		pr.mode, pr.tried = holding, [maxWorkers]num{}
	})
}
