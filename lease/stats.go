package lease

import "time"

// Stats is what a lease holds, and what it has been through.
type Stats struct {
	Datacenter, Worker int64
	Owner              string    // the token of this grant: host/process/random
	Since              time.Time // when this lease acquired the worker
	Until              time.Time // the end of the window that the store has acknowledged

	// Extensions counts the windows after the first. Failures counts the
	// attempts at getting one that failed, Losses the workers that another
	// process, or a copy of this one, has taken. Regressions counts acknowledged
	// writes that the store has forgotten: alert on any.
	Extensions, Failures, Losses, Regressions uint64

	// FailingSince and Failure are when the store, or the search for a free
	// worker, began to fail, and the last error. They are zero while all is
	// well.
	FailingSince time.Time
	Failure      error
}
