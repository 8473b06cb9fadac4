package sqllease

import (
	"sync"
	"sync/atomic"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// A store keeps the records of leases as rows of one table. It sends its own statements
// over connections of its pool. It does not use GORM, because callbacks, plugins and
// settings of a session could change the statements.
type store struct {
	*shared
	pin *pin // the only connection of a store from Connect; nil for any connection of the pool
}

var (
	_ lease.Connector = (*store)(nil)
	_ lease.Getter    = (*store)(nil)
	_ lease.Queue     = (*store)(nil)
	_ lease.Checker   = (*store)(nil)
)

// shared is the state that a store shares with the stores that [store.Connect] returns.
type shared struct {
	config
	stores.Turns                         // limits how many claims of this process work at once
	chosen       atomic.Pointer[dialect] // see the method dialect
	table        tableName               // as the options name it

	// ready is the table after it was created and checked at first use, with the schema
	// in which it was found. The name alone could mean another table in a later
	// session.
	ready     atomic.Pointer[tableName]
	clustered atomic.Bool // whether the server is a node of a Galera cluster

	// gate serves as a mutex for the creation and the check of the table. It has room for
	// one value, and a call holds it while its value is there. A call can stop waiting for a
	// channel when its context ends, which it could not do with a sync.Mutex.
	gate chan struct{}

	warned       sync.Map             // texts that warnOnce has logged, as keys
	mu           sync.Mutex           // protects lastFindings
	lastFindings map[string][]finding // findings of the last inspection, by the server's name
}

// dialect returns the dialect that the caller has named or, once a connection has shown
// that the server is TiDB, the variant for TiDB.
func (s *shared) dialect() *dialect { return s.chosen.Load() }
