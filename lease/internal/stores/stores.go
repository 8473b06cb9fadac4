// Package stores has what the stores of leases share: calls that end with their context,
// and the turns of claims. For stores that keep a record in one value, it also has the text
// of a record and the names of namespaces.
package stores

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
)

// A Server is what all calls of a store have in common.
type Server struct {
	Package string // of the store, for errors
	Err     error  // of New; every call returns it
}

// Call returns what f does, or why ctx has ended: see [Await]. An error says what
// was to be done.
func Call[T any](ctx context.Context, s Server, what string, f func(context.Context) (T, error)) (T, error) {
	var none T
	if s.Err != nil {
		return none, s.Err
	}
	value, err := Await(ctx, func() (T, error) { return f(ctx) })
	if err != nil {
		return none, fmt.Errorf("%s: %s: %w", s.Package, what, err)
	}
	return value, nil
}

// Swap is [lease.Store.CompareAndSwap] by a function that swaps texts of records.
func (s Server) Swap(ctx context.Context, worker int, from, to lease.Record, swap func(ctx context.Context, from, to string) (bool, error)) (bool, error) {
	if err := CheckRecords(s.Package, worker, from, to); err != nil {
		return false, err
	}
	return Call(ctx, s, fmt.Sprintf("write worker %d", worker), func(ctx context.Context) (bool, error) {
		return swap(ctx, FormatRecord(from), FormatRecord(to))
	})
}

// Await returns when call or ctx ends, for clients that know no contexts or wait
// for their own timeouts instead, or do not pass on why it has ended. The call
// continues in the background.
func Await[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	results := make(chan result, 1)
	go func() {
		value, err := call()
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		if r.err == nil || ctx.Err() == nil {
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	return none, context.Cause(ctx)
}

// DefaultNamespace is the namespace of a store without WithNamespace.
const DefaultNamespace = "default"

var validNamespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckNamespace accepts what can be in a key or a path of every server. The
// error has prefix, the name of the store's package.
func CheckNamespace(prefix, name string) error {
	return option.Check(validNamespace.MatchString(name), "%s: WithNamespace(%q): want 1 to 64 letters, digits, dots, hyphens and underscores, "+
		"the first a letter or digit", prefix, name)
}

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

// maxTurns is how many claims of a process work at once. More do not get more done,
// and take each other's time. It is less than the connections that a client of Redis
// has on two processors, which extensions use too.
const maxTurns = 16

// Turns limit how many claims work at once. Go serves those that wait for a channel in
// their order.
type Turns chan struct{}

// NewTurns returns the turns of a store.
func NewTurns() Turns { return make(Turns, maxTurns) }

// Enter implements [lease.Queue].
func (t Turns) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("lease: waiting for the turn of a claim: %w", context.Cause(ctx))
	}
}
