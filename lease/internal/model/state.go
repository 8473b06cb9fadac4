// Package model is the protocol of package lease at a size at which all that
// can happen can be tried: a few processes, workers and ticks.
//
// A process takes a worker, issues, extends its window, and gives the worker
// back; it may pause or die between any two steps. Clocks say anything at any
// time, so a window may have any length. A write may get lost, or its answer,
// and it may arrive after its sender has stopped waiting and even has died.
// [Check] visits every state that this can lead to, and looks for a tick of
// one worker that two grants have issued.
package model

import (
	"cmp"
	"slices"
)

// What a state has room for. All numbers fit four bits.
const (
	maxProcesses = 3
	maxWorkers   = 2
	maxTicks     = 8
	maxLate      = 2
)

// A record is what the store keeps of a worker. Owner zero is nobody.
type record struct{ bound, owner int8 }

type mode int8

const (
	idle     mode = iota
	claiming      // looks for a worker, under a token of its own
	holding       // may issue below bound
	lost          // may issue the rest, but has seen another owner
	stopped       // issues no more, and gives the worker back
)

type status int8

const (
	none    status = iota
	sent           // on its way
	landed         // carried out, the answer is on its way
	refused        // compared and not carried out, the answer is on its way
)

// A process is one at a time; a new life is a new token.
type process struct {
	mode   mode
	token  int8
	worker int8
	floor  int8             // nothing below is issued any more
	bound  int8             // of the worker, as last acknowledged or read
	tried  [maxWorkers]int8 // by a claim: one above the bound it was tried at

	// The write that it waits for. It replaces old by bound to, under the
	// process's token, or nobody's if it gives the worker back.
	status status
	old    record
	to     int8
}

// A message is a write whose sender no longer waits for it.
type message struct {
	worker   int8
	old, new record
}

// Marks of the ticks: zero, or who has issued it.
const (
	unissued int8 = 0
	byDead   int8 = maxProcesses + 1 // by a grant that is over; process i is i+1
)

type state struct {
	store     [maxWorkers]record
	issued    [maxWorkers][maxTicks]int8
	processes [maxProcesses]process
	late      [maxLate]message // worker -1: empty
}

func initial() state {
	var s state
	for i := range s.late {
		s.late[i] = empty
	}
	return s
}

var empty = message{worker: -1}

// A key is a state in as few bytes as map keys should have.
type key [32]byte

// canonical returns the one of all states that differ only in the names of
// processes and tokens, as far as that is easily found, and where the
// processes have gone.
func (s state) canonical() (state, [maxProcesses]int8) {
	s.prune()
	order := s.sortProcesses()
	slices.SortFunc(s.late[:], message.compare)
	s.nameTokens()
	return s, order
}

// prune drops late writes that can never find the record that they compare
// with: its token is neither in the store nor on its way there.
func (s *state) prune() {
	for i, m := range s.late {
		if m.worker >= 0 && m.old.owner != 0 && !s.mayHave(m.worker, m.old.owner, i) {
			s.late[i] = empty
		}
	}
}

func (s *state) mayHave(worker, token int8, except int) bool {
	if s.store[worker].owner == token {
		return true
	}
	for _, p := range s.processes {
		if p.token == token {
			return true
		}
	}
	for i, m := range s.late {
		if i != except && m.worker == worker && m.new.owner == token {
			return true
		}
	}
	return false
}

func (s *state) sortProcesses() (to [maxProcesses]int8) {
	from := [maxProcesses]int8{0, 1, 2}
	slices.SortStableFunc(from[:], func(a, b int8) int { return s.processes[a].compare(s.processes[b]) })
	var sorted [maxProcesses]process
	for i, p := range from {
		sorted[i] = s.processes[p]
		to[p] = int8(i)
	}
	s.processes = sorted
	for w := range s.issued {
		for t, mark := range s.issued[w] {
			if mark != unissued && mark != byDead {
				s.issued[w][t] = to[mark-1] + 1
			}
		}
	}
	return to
}

// compare leaves out the tokens, which have no meaning of their own.
func (pr process) compare(q process) int {
	return cmp.Or(
		-cmp.Compare(pr.mode, q.mode), cmp.Compare(pr.worker, q.worker), cmp.Compare(pr.floor, q.floor),
		cmp.Compare(pr.bound, q.bound), slices.Compare(pr.tried[:], q.tried[:]),
		cmp.Compare(pr.status, q.status), cmp.Compare(pr.old.bound, q.old.bound), cmp.Compare(pr.to, q.to))
}

func (m message) compare(o message) int {
	return cmp.Or(-cmp.Compare(m.worker, o.worker), cmp.Compare(m.old.bound, o.old.bound), cmp.Compare(m.new.bound, o.new.bound))
}

// nameTokens numbers the tokens in the order in which they are met.
func (s *state) nameTokens() {
	var names [16]int8
	next := int8(1)
	s.eachToken(func(t *int8) {
		if *t == 0 {
			return
		}
		if names[*t] == 0 {
			names[*t] = next
			next++
		}
		*t = names[*t]
	})
}

// fresh is a token that nobody has had.
func (s *state) fresh() int8 {
	var top int8
	s.eachToken(func(t *int8) { top = max(top, *t) })
	return top + 1
}

func (s *state) eachToken(visit func(*int8)) {
	for i := range s.store {
		visit(&s.store[i].owner)
	}
	for i := range s.processes {
		visit(&s.processes[i].token)
		visit(&s.processes[i].old.owner)
	}
	for i := range s.late {
		visit(&s.late[i].old.owner)
		visit(&s.late[i].new.owner)
	}
}

// key packs two numbers into a byte.
func (s *state) key() (k key) {
	n := 0
	put := func(values ...int8) {
		for _, v := range values {
			k[n/2] |= byte(v&15) << (n % 2 * 4)
			n++
		}
	}
	for i := range s.store {
		put(s.store[i].bound, s.store[i].owner)
		put(s.issued[i][:]...)
	}
	for _, p := range s.processes {
		put(int8(p.mode), int8(p.status), p.token, p.worker, p.floor, p.bound, p.old.bound, p.old.owner, p.to)
		put(p.tried[:]...)
	}
	for _, m := range s.late {
		put(m.worker, m.old.bound, m.old.owner, m.new.bound, m.new.owner)
	}
	return k
}
