package lease

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The errors that callers tell apart with [errors.Is]. What a generator returns
// while it has no window wraps [snowflake.ErrFenced] too.
var (
	// ErrLost: another process has taken the worker, after its bound had
	// passed on that process's clock. The lease acquires another worker, or
	// waits for the same one under [WithWorker]; the error is seen only while
	// there is none.
	ErrLost = errors.New("lease: worker lost")

	// ErrNoFreeWorker: every worker that may be leased is held. It is transient:
	// it ends when a holder releases its worker, or when the bound of one that
	// has died has passed: see [NoFreeWorkerError].
	ErrNoFreeWorker = errors.New("lease: no free worker")
)

// A NoFreeWorkerError is an [ErrNoFreeWorker] that lists who holds the workers.
type NoFreeWorkerError struct {
	// Holders are the records of all workers that may be leased, lowest bound
	// first.
	Holders []Holder

	// Wait is how long it takes, by this process's clock, until the first of
	// them is free unless its lease is renewed. It is at most 292 years, the
	// longest time.Duration.
	Wait time.Duration
}

// A Holder is a worker and who holds it.
type Holder struct {
	Datacenter, Worker int64
	Owner              string        // host/process/random, or empty if the worker is released
	Until              time.Time     // its bound
	Window             time.Duration // of the holder, or of the last one; zero if it is not known
}

// named is how many holders an error names.
const named = 4

func (e *NoFreeWorkerError) Error() string {
	var names []string
	for _, h := range e.Holders[:min(named, len(e.Holders))] {
		names = append(names, h.String())
	}
	if more := len(e.Holders) - named; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%v: all %d leased; the earliest lease expires in %v unless renewed: %s",
		ErrNoFreeWorker, len(e.Holders), e.Wait, strings.Join(names, "; "))
}

// Is makes the error an [ErrNoFreeWorker].
func (e *NoFreeWorkerError) Is(target error) bool { return target == ErrNoFreeWorker }

// String names the worker, its holder and its bound, for errors.
func (h Holder) String() string {
	owner := h.Owner
	if owner == "" {
		owner = "nobody"
	}
	return fmt.Sprintf("datacenter %d worker %d by %s until %s", h.Datacenter, h.Worker, owner, stamp(h.Until))
}

// stamp is a time as errors show it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (l *Lease) noFreeWorker(candidates []candidate, now int64) error {
	slices.SortFunc(candidates, candidate.compare)
	e := &NoFreeWorkerError{Wait: milliseconds(candidates[0].start - now)}
	for _, c := range candidates {
		e.Holders = append(e.Holders, l.holder(c.key, c.record))
	}
	return e
}
