package model

import (
	"cmp"
	"slices"
)

// stale is the version in place of every version that the store can never show again.
const stale num = -1

// canonical returns one representative of all states that differ only in the names of
// processes and versions, as far as that is easily found. It also returns the new
// positions of the processes.
func (s state) canonical() (state, [maxProcesses]num) {
	s.prune()
	order := s.sortProcesses()
	slices.SortFunc(s.late[:], write.compare)
	s.nameVersions()
	return s, order
}

// prune drops late writes that cannot land, because they replace a version that the store can
// never show again. A process that waits for such a write stops waiting, as after a timeout.
// Processes also remember versions, as the base of the next write, and as the layout's record
// that they have joined. prune replaces a remembered version by stale if the store can never
// show the version again, because all such versions have the same effect.
func (s *state) prune() {
	for i, w := range s.late {
		if w != empty && !s.mayShow(w.worker, w.old) {
			s.late[i] = empty
		}
	}
	for i := range s.processes {
		pr := &s.processes[i]
		if pr.joined != 0 && !s.mayShow(layoutKey, pr.joined) {
			pr.joined = stale
		}
		if !pr.hasBase() || s.mayShow(pr.worker, pr.base.version) {
			continue
		}
		pr.base.version = stale
		if pr.status == sent {
			pr.stopWaiting()
		}
	}
}

// mayShow reports whether the store shows a version of a record, or may show it later. That is
// the case if the version is durable, in the log, or in a write that is on its way.
func (s *state) mayShow(worker, version num) bool {
	if s.store.durable[worker].version == version {
		return true
	}
	isIt := func(w write) bool { return w.worker == worker && w.new.version == version }
	return slices.ContainsFunc(s.store.log[:s.store.pending], isIt) ||
		slices.ContainsFunc(s.late[:], isIt) ||
		slices.ContainsFunc(s.processes[:], func(pr process) bool {
			return pr.status == sent && pr.worker == worker && pr.version == version
		})
}

// ownNames returns the names before any process was moved: process i has the name i.
func ownNames() (names [maxProcesses]num) {
	for i := range names {
		names[i] = num(i)
	}
	return names
}

// sortProcesses sorts the processes, whose names do not matter. Process p moves to the
// position to[p]. The owners in records, which are numbers of processes plus one, follow.
func (s *state) sortProcesses() (to [maxProcesses]num) {
	from := ownNames() // by position, the process that moves there
	slices.SortStableFunc(from[:], func(a, b num) int { return s.processes[a].compare(s.processes[b]) })
	var sorted [maxProcesses]process
	for i, p := range from {
		sorted[i] = s.processes[p]
		to[p] = num(i)
	}
	s.processes = sorted
	s.eachRecord(func(r *record) {
		if r.owner != nobody {
			r.owner = to[r.owner-1] + 1
		}
	})
	return to
}

// compare orders processes, idle processes last. It ignores the versions, which are only
// ever compared for equality.
func (pr process) compare(q process) int {
	return cmp.Or(
		-cmp.Compare(pr.mode, q.mode), cmp.Compare(pr.worker, q.worker), cmp.Compare(pr.next, q.next),
		cmp.Compare(pr.acknowledged, q.acknowledged), cmp.Compare(pr.base.bound, q.base.bound),
		slices.Compare(pr.tried[:], q.tried[:]), cmp.Compare(pr.status, q.status), cmp.Compare(pr.to, q.to),
		cmp.Compare(pr.layout, q.layout))
}

// compare orders late writes, free places last.
func (w write) compare(o write) int {
	return cmp.Or(-cmp.Compare(w.worker, o.worker), cmp.Compare(w.new.owner, o.new.owner), cmp.Compare(w.new.bound, o.new.bound))
}

// nameVersions numbers the versions in the order in which eachVersion visits them.
func (s *state) nameVersions() {
	var names [32]num // longer than the number of versions in a state of Check
	next := num(1)
	s.eachVersion(func(v *num) {
		if *v <= 0 { // never written, or stale
			return
		}
		if names[*v] == 0 {
			names[*v] = next
			next++
		}
		*v = names[*v]
	})
}

// fresh returns a version that no record has.
func (s *state) fresh() num {
	var top num
	s.eachVersion(func(v *num) { top = max(top, *v) })
	return top + 1
}

// eachVersion calls visit for every version in the state. The versions that writes in the log
// replace do not matter any more.
func (s *state) eachVersion(visit func(*num)) {
	s.eachRecord(func(r *record) { visit(&r.version) })
	for i := range s.processes {
		visit(&s.processes[i].base.version)
		visit(&s.processes[i].version)
		visit(&s.processes[i].joined)
	}
	for i := range s.late {
		visit(&s.late[i].old)
	}
}
