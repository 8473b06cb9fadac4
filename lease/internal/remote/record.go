package remote

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// Absent is the text of a record that is absent.
const Absent = "0|"

// FormatRecord writes bound|owner, for stores that keep a record in one value. An
// owner may have bars of its own: the bound has none.
func FormatRecord(r lease.Record) string {
	return strconv.FormatInt(r.Bound, 10) + "|" + r.Owner
}

// ParseRecord reads what [FormatRecord] has written, and nothing else.
func ParseRecord(s string) (lease.Record, error) {
	bound, owner, _ := strings.Cut(s, "|")
	n, err := strconv.ParseInt(bound, 10, 64)
	if r := (lease.Record{Bound: n, Owner: owner}); err == nil && FormatRecord(r) == s {
		return r, nil
	}
	return lease.Record{}, fmt.Errorf("lease: record %q: want bound|owner", s)
}

// Add reads a worker's record, and the name under which a server keeps it.
func Add(records map[int]lease.Record, name, text string) error {
	worker, err := strconv.Atoi(name)
	if err != nil {
		return fmt.Errorf("record of %q: want a worker ID", name)
	}
	if records[worker], err = ParseRecord(text); err != nil {
		return fmt.Errorf("worker %d: %w", worker, err)
	}
	return nil
}
