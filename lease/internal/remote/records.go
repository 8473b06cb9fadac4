package remote

import (
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/lease"
)

// ErrPresent is the error of a write that finds its own record there already,
// and whose request may have been sent twice: the first may have written it.
var ErrPresent = errors.New("the record is the new one already, and this call may have written it: " +
	"want another write, from the record as it is")

// CheckRecords refuses a write that would change nothing: whether such a write
// has happened, nobody can see. The error has prefix, the name of the store's
// package.
func CheckRecords(prefix string, worker int, old, next lease.Record) error {
	if old != next {
		return nil
	}
	return fmt.Errorf("%s: write worker %d: old record %s, new record %s: want two that differ", prefix, worker, FormatRecord(old), FormatRecord(next))
}
