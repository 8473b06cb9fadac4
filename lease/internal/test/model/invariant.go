package model

import "fmt"

// breach describes a tick that was issued, or that a process may issue, although it is at or
// above the visible or the durable bound of its worker. It also describes IDs under a layout
// that the store does not keep. It returns "" if the invariant holds.
func (s *state) breach() string {
	if kept := s.store.durable[layoutKey].bound; s.layout != 0 && kept != s.layout {
		return fmt.Sprintf("ticks were issued under layout %d, and the store keeps layout %d", s.layout, kept)
	}
	for w := range num(maxWorkers) {
		bound := min(s.store.durable[w].bound, s.store.read(w).bound)
		for t := bound; t < maxTicks; t++ {
			if s.issued[w][t] {
				return fmt.Sprintf("tick %d of worker %d was issued, and its bound is %d", t, w, bound)
			}
		}
		for _, pr := range s.processes {
			if pr.mode != stopped && pr.worker == w && pr.acknowledged > bound {
				return fmt.Sprintf("worker %d may issue below %d, and its bound is %d", w, pr.acknowledged, bound)
			}
		}
	}
	return ""
}
