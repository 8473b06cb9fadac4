// Package stores implements the common parts of the stores of leases: calls that end
// with their context ([Call], [Await]), and a limit for concurrent claims ([Turns]).
// For stores that keep a record in one value, it also formats and parses records, and
// checks the names of namespaces.
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

// A Server holds the values that all calls of a store use.
type Server struct {
	Package string // name of the store's package, for errors
	Err     error  // error of New, which every call returns
}

// Call returns the result of f, or the cause of ctx if ctx ends first, by [Await]. If New of
// the store has failed, Call returns the error of New and does not call f. Other errors begin
// with the package and what, the name of the operation, for example "load".
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

// Swap implements CompareAndSwap of a [lease.Store] that keeps a record as text. It calls
// swap with the texts of both records, and returns its result. It refuses a write that
// would change nothing.
func (s Server) Swap(ctx context.Context, worker int, from, to lease.Record, swap func(ctx context.Context, from, to string) (bool, error)) (bool, error) {
	if err := CheckRecords(s.Package, worker, from, to); err != nil {
		return false, err
	}
	return Call(ctx, s, fmt.Sprintf("write worker %d", worker), func(ctx context.Context) (bool, error) {
		return swap(ctx, FormatRecord(from), FormatRecord(to))
	})
}

// Await returns when call or ctx ends. Use it for clients that ignore contexts, that
// wait for their own timeouts, or that do not return the cause of a context. If ctx
// ends, the call continues in the background.
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
		if r.err == nil || ctx.Err() == nil { // otherwise the cause of ctx says more than r.err
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	return none, context.Cause(ctx)
}

// DefaultNamespace is the namespace of a store without WithNamespace.
const DefaultNamespace = "default"

// validNamespace matches names that can be part of a key or a path on every server.
var validNamespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckNamespace returns an error unless the name can be part of a key or a path on
// every server. The error starts with prefix, the name of the store's package.
func CheckNamespace(prefix, name string) error {
	return option.Check(validNamespace.MatchString(name), "%s: WithNamespace(%q): want 1 to 64 letters, digits, dots, hyphens and underscores, "+
		"the first a letter or digit", prefix, name)
}

// ErrPresent is the error of a write if the store already has the new record. The request may
// have been sent twice, for example by a proxy, so that its first copy may have written the
// record.
var ErrPresent = errors.New("the record is the new one already, and this call may have written it: " +
	"want another write, from the record as it is")

// CheckRecords refuses a write that would change nothing, because a reader could not
// see whether such a write has happened. The error starts with prefix, the name of the
// store's package.
func CheckRecords(prefix string, worker int, old, next lease.Record) error {
	if old != next {
		return nil
	}
	return fmt.Errorf("%s: write worker %d: old record %s, new record %s: want two that differ", prefix, worker, FormatRecord(old), FormatRecord(next))
}

// Absent is the text of the zero record, which stands for an absent record.
const Absent = "0|"

// FormatRecord returns bound|owner, for stores that keep a record in one value. The
// owner may contain bars, because the first bar ends the bound.
func FormatRecord(r lease.Record) string {
	return strconv.FormatInt(r.Bound, 10) + "|" + r.Owner
}

// ParseRecord parses a text that [FormatRecord] has returned. Any other text is an
// error.
func ParseRecord(s string) (lease.Record, error) {
	bound, owner, _ := strings.Cut(s, "|")
	n, err := strconv.ParseInt(bound, 10, 64)
	if r := (lease.Record{Bound: n, Owner: owner}); err == nil && FormatRecord(r) == s {
		return r, nil
	}
	return lease.Record{}, fmt.Errorf("lease: record %q: want bound|owner", s)
}

// Add parses a worker's record, and the name under which a server keeps it, and adds it
// to records.
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

// maxTurns is how many claims of a process work at once. More claims are not faster in
// total, and slow each other down. It is less than the 20 connections that a Redis client
// has on two processors, because extensions need connections too.
const maxTurns = 16

// Turns is a channel that limits how many claims work at once. A claim sends to it to get
// its turn. Waiting claims get their turns in order, because a Go channel serves its
// senders in order.
type Turns chan struct{}

// NewTurns returns the turns of a store.
func NewTurns() Turns { return make(Turns, maxTurns) }

// Enter waits for the turn of a claim until ctx ends. The caller calls leave once, to end the
// turn. Because of this method, a store that embeds Turns is a [lease.Queue].
func (t Turns) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("lease: waiting for the turn of a claim: %w", context.Cause(ctx))
	}
}
