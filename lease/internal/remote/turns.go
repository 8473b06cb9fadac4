package remote

import (
	"context"
	"fmt"
)

// maxTurns is how many claims of a process work at once. More do not get more done,
// and take each other's time. It is less than the connections that a client of Redis
// has on two processors, which extensions use too.
const maxTurns = 16

// Turns are those of claims. Go serves those that wait for a channel in their order.
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
