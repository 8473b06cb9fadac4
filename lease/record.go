package lease

import (
	"fmt"
	"strconv"
	"strings"
)

// A Record is what a [Store] keeps of one worker. The zero Record stands for
// one that has never been written.
type Record struct {
	// Bound is in Unix milliseconds. Every tick that was ever issued under
	// this worker, or that anybody can still issue, is below it.
	Bound int64

	// Owner is the token of one grant of the worker, at most 128 characters of
	// printable ASCII: host/process/random, and how often it was written, the
	// bound that the grant replaced and its window, both in milliseconds. It
	// ends in "/released" once the worker is; where a person has freed it, it
	// may be empty.
	Owner string
}

// String writes bound|owner, for stores that keep a record in one value. An
// owner may have bars of its own: the bound has none. [ParseRecord] reads it.
func (r Record) String() string {
	return strconv.FormatInt(r.Bound, 10) + "|" + r.Owner
}

// ParseRecord reads what [Record.String] has written, and nothing else.
func ParseRecord(s string) (Record, error) {
	bound, owner, _ := strings.Cut(s, "|")
	n, err := strconv.ParseInt(bound, 10, 64)
	if r := (Record{n, owner}); err == nil && r.String() == s {
		return r, nil
	}
	return Record{}, fmt.Errorf("lease: record %q: want bound|owner", s)
}
