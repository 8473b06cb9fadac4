package lease

import (
	"errors"
	"fmt"

	"github.com/gormflake/gormflake/snowflake"
)

var (
	errEnded    = errors.New("lease: the worker has been given back: acquire another lease")
	errSettling = errors.New("lease: another worker has to settle first")
	errNothing  = errors.New("the window that was acknowledged is over already")
)

// ready returns the grant that reaches beyond need, if there is one. The error
// is that of an outage: more attempts than those in the background would only
// load a store that is in trouble.
func (l *Lease) ready(held *snowflake.Grant, need int64) (*snowflake.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch h := l.kept(); {
	case l.ended:
		return nil, errEnded
	case held == nil && len(l.out) > 0:
		return nil, fmt.Errorf("lease: %v serves a generator already: acquire a lease for each", l.held)
	case !h.lost && h.known.Bound > max(need, l.now()):
		return l.handOver(h, held)
	case l.outage.attempts > 0:
		l.outage.need = need
		return nil, l.refusal(held)
	}
	return nil, nil
}

// handOver returns the holding's grant, or makes one for the generator that
// issues under held.
func (l *Lease) handOver(h *holding, held *snowflake.Grant) (*snowflake.Grant, error) {
	if held != nil && h.grant.Load() == held {
		return held, nil
	}
	grant, err := h.give(l.layout)
	if err != nil {
		return nil, err
	}
	l.held, l.spare = h, nil
	l.out[grant] = h
	return grant, nil
}

// fenced is the error of a call that has nothing to issue under.
func (l *Lease) fenced(held *snowflake.Grant, why error) error {
	if held == nil {
		return fmt.Errorf("%w: %w", snowflake.ErrFenced, why)
	}
	end := held.Until()
	if last := held.Last(); last.After(end) {
		end = last // it was revoked
	}
	return fmt.Errorf("%w: %v, refused for %v, since its window ended at %s: %w",
		snowflake.ErrFenced, held, max(0, milliseconds(l.now()-end.UnixMilli())), stamp(end), why)
}
