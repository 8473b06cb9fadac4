package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gormflake/gormflake/lease"
)

// errLost is the error of a write whose answer was lost.
var errLost = errors.New("leasetest: answer lost")

// A loser loses answers to successful writes. The write has happened, and its caller gets
// an error.
type loser struct {
	oneIn int          // the loser loses one in so many answers; 0 loses no answer
	lost  atomic.Int64 // answers that were lost since the last marker
}

// wrap returns a store that loses answers of the given store. The returned store is a
// lease.Connector if the given store is, and implements no other optional interface. If the
// loser loses no answers, wrap returns the given store itself.
func (l *loser) wrap(store lease.Store) lease.Store {
	if l.oneIn == 0 {
		return store
	}
	losing := &losingStore{store, l}
	if connector, ok := store.(lease.Connector); ok {
		return &losingConnector{losing, connector}
	}
	return losing
}

// markers returns a marker with the number of answers that were lost since the last
// call.
func (l *loser) markers() []entry {
	if n := l.lost.Swap(0); n > 0 {
		return []entry{markerOf(lost, entry(n))}
	}
	return nil
}

// A losingStore is a store whose answers a loser may lose.
type losingStore struct {
	lease.Store
	loser *loser
}

func (s *losingStore) CompareAndSwap(ctx context.Context, worker int, old, to lease.Record) (bool, error) {
	swapped, err := s.Store.CompareAndSwap(ctx, worker, old, to)
	if swapped && err == nil && rand.IntN(s.loser.oneIn) == 0 {
		s.loser.lost.Add(1)
		return false, errLost
	}
	return swapped, err
}

// A losingConnector is a losingStore whose connected stores lose answers too.
type losingConnector struct {
	*losingStore
	connector lease.Connector
}

func (s *losingConnector) Connect(ctx context.Context) (lease.Store, func(), error) {
	store, release, err := s.connector.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &losingStore{store, s.loser}, release, nil
}
