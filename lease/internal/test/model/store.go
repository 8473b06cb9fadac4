package model

// A record is the stored state of a worker. No two writes have the same version.
// Version zero means that the record was never written.
type record struct {
	bound    num
	owner    num // i+1 for process i, or nobody
	version  num
	released bool // by its owner, or by an operator
}

// isHeld reports whether a process has the worker.
func (r record) isHeld() bool { return r.owner != nobody && !r.released }

// layoutKey is the index of the layout's record, whose bound is the layout.
const layoutKey num = maxWorkers

// A write replaces the record of version old.
type write struct {
	worker, old num
	new         record
}

// A store keeps the records of all workers and, at layoutKey, of the layout.
type store struct {
	durable [maxWorkers + 1]record
	log     [maxVolatile]write // visible writes that are not durable yet, oldest first
	pending num                // the number of writes in log
}

// read returns the visible record of a worker.
func (s *store) read(worker num) record {
	for i := s.pending - 1; i >= 0; i-- {
		if s.log[i].worker == worker {
			return s.log[i].new
		}
	}
	return s.durable[worker]
}

// land makes a write visible if the visible record has the version that it replaces, and
// reports whether it did. The argument volatile is the number of writes that the log can hold.
// If the log is full, its oldest write becomes durable.
func (s *store) land(w write, volatile int) bool {
	if s.read(w.worker).version != w.old {
		return false
	}
	if volatile == 0 {
		s.durable[w.worker] = w.new
		return true
	}
	if int(s.pending) == volatile {
		s.flush(1)
	}
	s.log[s.pending] = write{worker: w.worker, new: w.new}
	s.pending++
	return true
}

// flush makes the first n writes of the log durable.
func (s *store) flush(n num) {
	for _, w := range s.log[:n] {
		s.durable[w.worker] = w.new
	}
	copy(s.log[:], s.log[n:s.pending])
	clear(s.log[s.pending-n : s.pending])
	s.pending -= n
}

// acknowledge makes a write durable, and all writes before it.
func (s *store) acknowledge(version num) {
	s.flush(s.position(version) + 1)
}

// position returns the index of a version in the log, or -1 if it is already durable.
func (s *store) position(version num) num {
	for i := range s.pending {
		if s.log[i].new.version == version {
			return i
		}
	}
	return -1
}

// truncate makes the first n writes of the log durable, and forgets the other writes.
func (s *store) truncate(n num) {
	s.flush(n)
	s.log, s.pending = [maxVolatile]write{}, 0
}
