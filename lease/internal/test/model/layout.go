package model

// starts takes the first steps of an idle process, which wants a worker. If Config.Layouts is
// set, the process first reads or writes the store's layout. Its own layout may be 1 or 2.
func (sr *stepper) starts(p num) {
	if !sr.config.Layouts {
		sr.claims(p)
		return
	}
	sr.joins(p, 1)
	sr.joins(p, 2)
}

// joins takes the step in which process p reads the store's layout. The argument layout is the
// process's own layout. If the store has no layout, the process writes its own. If the store
// has the same layout, the process may claim a worker. A process that claims can take this step
// again, because a lease reads the layout before each write of a claim.
func (sr *stepper) joins(p, layout num) {
	st := step{kind: join, process: p, a: layout}
	switch r := sr.state.store.read(layoutKey); {
	case r.version == 0:
		sr.change(st, func(s *state) {
			s.processes[p] = process{mode: joining, layout: layout}
			s.send(p, layoutKey, baseOf(r), layout)
		})
	case r.bound == layout: // there is no step for another layout, which the process refuses
		sr.change(st, func(s *state) {
			pr := &s.processes[p]
			pr.mode, pr.layout, pr.joined = claiming, layout, r.version
		})
	}
}

// checks takes the step in which process p reads the layout once more, after its claim was
// acknowledged. The acknowledgement has made the layout's record durable, because that record
// precedes the claim in the log. If the store crashed before the claim, the layout's record may
// be gone, or another record may be in its place. The process then releases the worker.
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
