//go:build replay

package model

import (
	"fmt"
	"slices"
	"strings"
)

// maxShown is how many events of a process an error shows, the rejected event included.
const maxShown = 20

// rejected returns the error of an event that the model does not allow. It contains the
// reason why, the process's grants in the model, and its last events.
func (r *Replay) rejected(events []Event, at int, why error) error {
	process := events[at].Process
	var last []string // the newest first, until it is reversed
	for i := at; i >= 0 && len(last) < maxShown; i-- {
		if e := events[i]; e.Process == process || e.Kind == Crashed || e.Kind == Operated {
			last = append(last, "  "+e.String())
		}
	}
	r.each(process, func(p num) { last = append(last, "  the model's "+r.model(p).String()) })
	slices.Reverse(last)
	return fmt.Errorf("event %d: %w\n%s", at, why, strings.Join(last, "\n"))
}

// String returns the state of a grant, for errors.
func (pr *process) String() string {
	// The modes are in the order of their constants.
	modes := [...]string{"idle", "joining", "claiming", "checking", "holding", "stopped"}
	return fmt.Sprintf("grant is %s: worker %d, issues from %d below %d, base %v, write %d (%d) to %d",
		modes[pr.mode], pr.worker, pr.next, pr.acknowledged, pr.base, pr.version, pr.status, pr.to)
}
