package model

import (
	"fmt"
	"slices"
)

// Config is the size of the world that [Check] visits.
type Config struct {
	Processes int  // 1 to 3
	Workers   int  // 1 or 2
	Ticks     int  // 1 to 8; no bound is above it
	Late      int  // 0 to 2: writes on their way whose sender has stopped waiting
	Volatile  int  // 0 to 3: visible writes that a crash may forget
	Evict     bool // an operator takes workers from their holders
	Layouts   bool // each process has one of two layouts
	Mutant    Mutant
}

// A Result is the result of Check.
type Result struct {
	States int // all reachable states, or the states before the violation
	Steps  int // between these states

	// Violation describes the violation, and Trace is the shortest way to it. They are
	// empty if all states were visited without a violation.
	Violation string
	Trace     []string
}

// Check visits every reachable state, breadth first, until it finds a violation.
func Check(c Config) (Result, error) {
	if err := c.validate(); err != nil {
		return Result{}, err
	}
	s := &search{config: c, seen: map[state]struct{}{}}
	s.add(initial(), -1, step{}) // without a parent and a step
	for len(s.frontier) > 0 && s.result.Violation == "" {
		s.expand()
	}
	s.result.States = len(s.nodes)
	return s.result, nil
}

// validate returns an error for a field that is out of range.
func (c Config) validate() error {
	for _, field := range []struct {
		name          string
		got, min, max int
	}{
		{"Processes", c.Processes, 1, maxProcesses},
		{"Workers", c.Workers, 1, maxWorkers},
		{"Ticks", c.Ticks, 1, maxTicks},
		{"Late", c.Late, 0, maxLate},
		{"Volatile", c.Volatile, 0, maxVolatile},
	} {
		if field.got < field.min || field.got > field.max {
			return fmt.Errorf("model: %s %d out of range [%d, %d]", field.name, field.got, field.min, field.max)
		}
	}
	if c.Mutant != Unchanged && !slices.Contains(Mutants(), c.Mutant) {
		return fmt.Errorf("model: unknown mutant %q", c.Mutant)
	}
	return nil
}

// A search visits the states breadth first.
type search struct {
	config   Config
	seen     map[state]struct{} // states reached so far
	nodes    []node             // of these states, in the order in which they were reached
	frontier []frontierState    // states at the greatest distance from the start so far
	result   Result
}

// A node is the step by which a state was first reached, and its previous state.
type node struct {
	parent int32 // index of the previous state's node; -1 at the start
	step   step
}

// A frontierState is a state whose steps were not taken yet, and the index of its node.
type frontierState struct {
	state state
	node  int32
}

// add adds a state to the frontier, unless the state was reached before. The step by leads to
// the state, from the state of the node parent.
func (s *search) add(next state, parent int32, by step) {
	next, _ = next.canonical()
	if _, ok := s.seen[next]; ok {
		return
	}
	s.seen[next] = struct{}{}
	s.frontier = append(s.frontier, frontierState{next, int32(len(s.nodes))})
	s.nodes = append(s.nodes, node{parent, by})
}

// expand takes all steps from all states of the frontier.
func (s *search) expand() {
	last := s.frontier
	s.frontier = nil
	for _, f := range last {
		sr := stepper{config: s.config, state: f.state}
		sr.visit = func(by step, next state) {
			s.result.Steps++
			// A mutant first breaks the invariant. The search goes on until a tick is
			// issued twice.
			if what := next.breach(); what != "" && s.config.Mutant == Unchanged {
				sr.violate(by, what)
			}
			s.add(next, f.node, by)
		}
		sr.violate = func(by step, what string) {
			if s.result.Violation == "" {
				s.result.Violation, s.result.Trace = what, s.trace(f.node, by)
			}
		}
		sr.all()
		if s.result.Violation != "" {
			return
		}
	}
}

// trace returns the descriptions of the steps that lead to a node, and of the last step. It
// takes these steps again to find out which process each step means, because canonical sorts
// the processes of every state, so that their positions change.
func (s *search) trace(at int32, last step) []string {
	steps := []step{last}
	for ; s.nodes[at].parent >= 0; at = s.nodes[at].parent {
		steps = append(steps, s.nodes[at].step)
	}
	slices.Reverse(steps)
	current, names := initial(), ownNames() // names has, by position, the name from the start
	var trace []string
	for _, by := range steps {
		trace = append(trace, by.describe(names))
		current, names = s.retake(current, by, names)
	}
	return trace
}

// retake takes the step taken from the state from. It returns the next state in its canonical
// form, and the names of the processes by their new positions.
func (s *search) retake(from state, taken step, names [maxProcesses]num) (to state, renamed [maxProcesses]num) {
	sr := stepper{config: s.config, state: from, violate: func(step, string) {}} // expand has recorded the violation
	sr.visit = func(by step, next state) {
		if by != taken {
			return
		}
		var moved [maxProcesses]num // by process, its new position
		to, moved = next.canonical()
		for i, j := range moved {
			renamed[j] = names[i]
		}
	}
	sr.all()
	return to, renamed
}
