package lease

import (
	"errors"
	"fmt"
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
