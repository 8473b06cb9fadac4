//go:build replay

package model

import (
	"fmt"
	"slices"
	"strings"
)

// Rejected is a trace that the model does not allow.
type Rejected struct {
	At     int // the index of the event
	Last   []Event
	Grants []string // of the event's process, as the model sees them
	Why    error
}

func (e *Rejected) Error() string {
	lines := []string{fmt.Sprintf("event %d: %v", e.At, e.Why)}
	for _, g := range e.Grants {
		lines = append(lines, "  the model's "+g)
	}
	for _, event := range e.Last {
		lines = append(lines, "  "+event.String())
	}
	return strings.Join(lines, "\n")
}

func (e *Rejected) Unwrap() error { return e.Why }

// shown is how many events of a process are shown with the rejected one.
const shown = 20

func (r *Replay) rejected(events []Event, at int, why error) error {
	e := &Rejected{At: at, Why: why}
	process := events[at].Process
	for i := at; i >= 0 && len(e.Last) < shown; i-- {
		if events[i].Process == process || events[i].Kind == Crashed || events[i].Kind == Operated {
			e.Last = append(e.Last, events[i])
		}
	}
	slices.Reverse(e.Last)
	r.each(process, func(p num) { e.Grants = append(e.Grants, r.model(p).String()) })
	return e
}

func (pr *process) String() string {
	modes := [...]string{"idle", "joining", "claiming", "checking", "holding", "stopped"}
	return fmt.Sprintf("grant is %s: worker %d, issues from %d below %d, base %v, write %d (%d) to %d",
		modes[pr.mode], pr.worker, pr.next, pr.acknowledged, pr.base, pr.version, pr.status, pr.to)
}
