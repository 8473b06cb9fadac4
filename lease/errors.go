package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors to compare with [errors.Is]. While it has no window, a generator returns them
// wrapped together with [snowflake.ErrFenced].
var (
	// ErrLost means that the lease has lost its worker, for example because another
	// process has taken the worker after the bound had passed on that process's clock.
	// The lease then acquires another worker, or under [WithWorker] waits for the same
	// worker. A caller sees the error only until the lease has a worker again.
	ErrLost = errors.New("lease: worker lost")

	// ErrNoFreeWorker means that the bound of every worker that may be leased is still ahead
	// of the clock, usually because processes hold the workers. The error is transient: a
	// worker becomes free when its holder releases it, or when the bound of a holder that has
	// died passes. [NoFreeWorkerError] has the details.
	ErrNoFreeWorker = errors.New("lease: no free worker")
)

var (
	errEnded        = errors.New("lease: the worker has been released: acquire another lease")
	errWindowPassed = errors.New("the renewed window has already expired")
)

// A NoFreeWorkerError is an [ErrNoFreeWorker] that lists who holds the workers.
type NoFreeWorkerError struct {
	// Holders are the records of all workers that may be leased, lowest bound
	// first.
	Holders []Holder

	// Wait is the time, by this process's clock, until the first bound passes and its
	// worker is free, unless its holder renews the lease. It is at most 292 years, the
	// longest time.Duration.
	Wait time.Duration
}

// maxNamed is how many holders the text of a NoFreeWorkerError names.
const maxNamed = 4

// Error returns a text that names the first four holders and counts the rest. The text stays
// short even if a thousand workers are leased.
func (e *NoFreeWorkerError) Error() string {
	var names []string
	for _, h := range e.Holders[:min(maxNamed, len(e.Holders))] {
		names = append(names, h.String())
	}
	if more := len(e.Holders) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%v: all %d leased; the earliest lease expires in %v unless renewed: %s",
		ErrNoFreeWorker, len(e.Holders), e.Wait, strings.Join(names, "; "))
}

// Is reports whether target is [ErrNoFreeWorker].
func (e *NoFreeWorkerError) Is(target error) bool { return target == ErrNoFreeWorker }
