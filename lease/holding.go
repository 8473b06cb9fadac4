package lease

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// A holding is a worker that the lease has taken. What is known of it is changed
// only by who has the turn, and under the lease's mutex; tried needs none, for
// nobody else reads it.
type holding struct {
	key                int
	datacenter, worker int64
	from               int64                           // the bound that it was taken at: nobody before used this or later
	taken              int64                           // when, in Unix milliseconds
	known              Record                          // as acknowledged by the store, or read from it
	grant              atomic.Pointer[snowflake.Grant] // nil until a generator has it
	tried              int64                           // the highest bound that a write of ours may have left in the store
	lost               bool                            // or given back
}

// until is the end of the window that is known to be ours.
func (h *holding) until() time.Time { return time.UnixMilli(h.known.Bound) }

// used is the last tick in use, in Unix milliseconds: it is ahead of the wall
// clock after that was set back, or in logical time.
func (h *holding) used() int64 {
	grant := h.grant.Load()
	if grant == nil {
		return 0
	}
	return max(0, grant.Last().UnixMilli())
}

// confirm makes the record what is known, and lets the generator use it.
func (h *holding) confirm(r Record) {
	h.known = r
	h.try(r)
	if grant := h.grant.Load(); grant != nil {
		grant.Extend(h.until())
	}
}

// try notes a write that has landed, or may land yet.
func (h *holding) try(r Record) { h.tried = max(h.tried, r.Bound) }

// cloned reports whether a record with our token was written by none of our
// writes: by a copy of this process, or by what it did after a snapshot to which
// it has been set back.
func (h *holding) cloned(r Record) bool { return r.Owner == h.known.Owner && r.Bound > h.tried }

// give makes the grant for a generator.
func (h *holding) give(layout snowflake.Layout) (*snowflake.Grant, error) {
	grant, err := snowflake.NewGrant(layout, h.datacenter, h.worker, time.UnixMilli(h.from), h.until())
	if err != nil {
		return nil, err
	}
	h.grant.Store(grant)
	return grant, nil
}

// revoke ends a window that is no longer ours alone.
func (h *holding) revoke(now int64) {
	h.lost = true
	h.known.Bound = min(h.known.Bound, now)
	if grant := h.grant.Load(); grant != nil {
		grant.Revoke()
	}
}

func (h *holding) String() string {
	return fmt.Sprintf("datacenter %d worker %d", h.datacenter, h.worker)
}

func (h *holding) attrs() []any {
	return []any{"datacenter", h.datacenter, "worker", h.worker, "owner", h.known.Owner, "until", stamp(h.until())}
}
