package lease

import (
	"fmt"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A Holder is a worker and who holds it.
type Holder struct {
	Datacenter, Worker int64
	Owner              string        // host/process/random, or empty if the worker is released
	Until              time.Time     // its bound
	Window             time.Duration // of the holder, or of the last one; zero if it is not known
}

// A HolderState is what a record means to a process that wants a worker.
type HolderState int

// The states of a worker, by its record and a clock.
const (
	// Held: the bound is ahead of the clock.
	Held HolderState = iota
	// Lapsed: the bound has passed and the worker was not released. Its
	// holder has died, is suspended or is cut off from the store. The worker
	// is free.
	Lapsed
	// Waiting: released, with a bound ahead of the clock. It is free once
	// the clock gets there.
	Waiting
	// Free: released, and the bound has passed.
	Free
)

// String names the state in lower case.
func (s HolderState) String() string {
	names := []string{"held", "lapsed", "waiting", "free"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("HolderState(%d)", int(s))
	}
	return names[s]
}

// State returns what the record means at now.
func (h Holder) State(now time.Time) HolderState {
	passed := h.Until.UnixMilli() <= now.UnixMilli()
	switch {
	case h.Owner != "" && passed:
		return Lapsed
	case h.Owner != "":
		return Held
	case passed:
		return Free
	}
	return Waiting
}

func holder(layout snowflake.Layout, key int, r Record) Holder {
	datacenter, worker := numbers(layout, key)
	t, _ := parseToken(r.Owner)
	return Holder{
		Datacenter: datacenter,
		Worker:     worker,
		Owner:      r.heldBy(),
		Until:      time.UnixMilli(r.Bound),
		Window:     time.Duration(t.window) * time.Millisecond,
	}
}

// String names the worker, its holder and its bound, for errors.
func (h Holder) String() string {
	owner := h.Owner
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Sprintf("datacenter %d worker %d by %s until %s", h.Datacenter, h.Worker, owner, stamp(h.Until))
}
