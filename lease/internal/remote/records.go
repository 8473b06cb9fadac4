package remote

import (
	"fmt"

	"github.com/gormflake/gormflake/lease"
)

// CheckRecords refuses a write that would change nothing: whether such a write
// has happened, nobody can see. The error has prefix, the name of the store's
// package.
func CheckRecords(prefix string, worker int, old, next lease.Record) error {
	if old != next {
		return nil
	}
	return fmt.Errorf("%s: write worker %d: old record %v, new record %v: want two that differ", prefix, worker, old, next)
}
