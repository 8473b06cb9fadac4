package plan

import (
	"fmt"
	"strings"
	"time"
)

// A Steering is what others want of an online move while it runs: it is kept in the
// database with the move, and read by it about once a second. The zero value wants
// nothing.
//
// A statement that has begun, such as the building of an index, is not stopped.
type Steering struct {
	// Paused keeps the move from beginning a batch or a step, and Revert too.
	Paused bool `json:",omitempty"`

	// HoldSwap keeps it from stage swap.
	HoldSwap bool `json:",omitempty"`

	// Stall takes the place of WithStall. Zero leaves that as it is.
	Stall time.Duration `json:",omitempty"`

	// Between are the hours in which batches and steps begin.
	Between Hours `json:",omitzero"`

	// MaxRunning is the number of statements that run on the server, the move's not
	// among them, above which the move waits. Zero is no limit.
	MaxRunning int `json:",omitempty"`
}

// Hours are a part of the day, in the local time of the process that carries the move
// out. They can include midnight. The zero value is the whole day.
type Hours struct{ From, To time.Duration } // since midnight

// ParseHours reads hours such as 22:00-06:00.
func ParseHours(text string) (Hours, error) {
	from, to, found := strings.Cut(text, "-")
	first, err := time.Parse("15:04", from)
	last, lastErr := time.Parse("15:04", to)
	if !found || err != nil || lastErr != nil || first.Equal(last) {
		return Hours{}, fmt.Errorf("plan: hours %q: want two times of the day, as 22:00-06:00", text)
	}
	return Hours{sinceMidnight(first), sinceMidnight(last)}, nil
}

// Contains reports whether t is in the hours.
func (h Hours) Contains(t time.Time) bool {
	at := sinceMidnight(t)
	switch {
	case h == Hours{}:
		return true
	case h.From < h.To:
		return h.From <= at && at < h.To
	default:
		return h.From <= at || at < h.To
	}
}

// String is the form that [ParseHours] reads.
func (h Hours) String() string {
	clock := func(d time.Duration) string { return time.Time{}.Add(d).Format("15:04") }
	return clock(h.From) + "-" + clock(h.To)
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}
