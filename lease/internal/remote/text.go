package remote

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/lease"
)

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
