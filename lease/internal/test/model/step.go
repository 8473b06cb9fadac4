package model

import "fmt"

// A kind is the kind of a step. The words process, worker, a and b in the comments of the kinds
// are the fields of the step.
type kind num

const (
	join    kind = iota // reads the layout, and writes layout a if there is no layout
	check               // reads the layout once more
	claim               // a claim reads worker and writes bound a, to issue from b
	again               // a claim reads a record with its own token, and writes it once more, with bound a
	trust               // a claim reads a record with its own token, and holds the worker (a mutant's mistake)
	giveUp              // a claim that ends reads a record with its own token, to release the worker
	extend              // writes bound a
	read                // reads the record of its worker
	issue               // tick a
	stop                // the process stops issuing; a as for timeout
	release             // writes bound a, and that the worker is released
	arrive              // the write lands, or is refused
	answer              // the write is acknowledged
	timeout             // the process stops waiting; a is 1 if the write is still on its way
	deliver             // late write number a arrives
	die                 // the process loses its memory; a as for timeout
	crash               // the store forgets its log except the first a writes
	evict               // an operator releases worker at bound b; a as for timeout
	forget              // the store forgets an acknowledged record
	clone               // process becomes a copy of process a
)

// A step is an event that changes a state. The kind determines which of the fields it uses.
type step struct {
	kind            kind
	process, worker num
	a, b            num
}

// describe returns the step as text, with the given names of the processes.
func (st step) describe(names [maxProcesses]num) string {
	switch st.kind {
	case deliver:
		return fmt.Sprintf("late write %d arrives", st.a)
	case crash:
		return fmt.Sprintf("the store crashes, and %d of the writes in its log survive", st.a)
	case evict:
		return fmt.Sprintf("an operator releases worker %d at bound %d%s", st.worker, st.b, st.remains())
	case forget:
		return fmt.Sprintf("the store forgets worker %d", st.worker)
	case clone:
		return fmt.Sprintf("process %c becomes a copy of process %c", 'A'+names[st.process], 'A'+names[st.a])
	}
	return fmt.Sprintf("process %c %s", 'A'+names[st.process], st.action())
}

// action returns what a process does in the step.
func (st step) action() string {
	switch st.kind {
	case claim:
		return fmt.Sprintf("asks for worker %d from tick %d up to bound %d", st.worker, st.b, st.a)
	case join:
		return fmt.Sprintf("starts with layout %d", st.a)
	case check:
		return "reads the layout once more"
	case again:
		return fmt.Sprintf("reads its own record of worker %d and asks for bound %d", st.worker, st.a)
	case trust:
		return fmt.Sprintf("reads its own record of worker %d and trusts it", st.worker)
	case giveUp:
		return fmt.Sprintf("gives up, and reads its own record of worker %d", st.worker)
	case extend:
		return fmt.Sprintf("asks to extend worker %d to bound %d", st.worker, st.a)
	case read:
		return fmt.Sprintf("reads the record of worker %d", st.worker)
	case issue:
		return fmt.Sprintf("issues tick %d of worker %d", st.a, st.worker)
	case stop:
		return "stops issuing" + st.remains()
	case release:
		return fmt.Sprintf("asks to release worker %d at bound %d", st.worker, st.a)
	case arrive:
		return "has its write compared in the store"
	case answer:
		return "gets the acknowledgement"
	case timeout:
		return "stops waiting for the answer" + st.remains()
	default:
		return "dies" + st.remains()
	}
}

// remains returns the end of the description of a step that leaves a write on its way, or "" if
// it leaves none.
func (st step) remains() string {
	if st.a == 0 {
		return ""
	}
	return ", and the write is still on its way"
}
