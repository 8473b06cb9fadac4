// Package service is the HTTP interface of a generator. It issues IDs, reads IDs, and
// reports its layout, its workers and its health. openapi.json describes its paths; all
// other paths belong to the page. The command serve calls [New] with a [Config], and
// [NewServer] for the server.
//
// Requests change only the sequence of the generator. Errors are problems as in RFC 9457,
// whose detail is one sentence.
package service

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/types"
)

// A service answers the requests of clients. Its handlers run concurrently.
type service struct {
	Config
	token       *[sha256.Size]byte // hash of the token; nil if no token is required
	anyone      bool               // whether pages of all sites may read the answers
	last        types.ID           // the last ID of the layout
	durations   *prometheus.HistogramVec
	errorLogged atomic.Bool // whether logError has logged an error within errorInterval
	workers     workerList

	// small and large count the bytes of the blocks in use, small for blocks with up to
	// pooledIDs IDs, and large for larger blocks. A request waits until its block fits; see
	// memory.
	small, large *semaphore.Weighted
}

// A workerList is the list of workers that was last read from the store. A request holds mu
// while it reads the store, so that other requests wait for its list instead of reading too.
type workerList struct {
	mu      sync.Mutex
	workers []worker
	at      time.Time // when the list was read
}

// A worker is a worker of the store in the answer to GET /v1/workers.
type worker struct {
	Datacenter int64  `json:"datacenter"`
	Worker     int64  `json:"worker"`
	Owner      string `json:"owner,omitempty"` // names a host and a process, so only clients with a token get it
	Bound      string `json:"bound"`           // the time at which the lease ends unless it is extended
	State      string `json:"state"`           // of lease.HolderState, such as held
}

// lease returns the lease of the generator's worker, or nil if the worker is fixed. The
// service must have a generator.
func (s *service) lease() *lease.Lease {
	l, _ := s.Generator.Source().(*lease.Lease)
	return l
}

// draining reports whether the process is about to end, which the caller of New says by
// closing [Config.Draining].
func (s *service) draining() bool {
	select {
	case <-s.Draining:
		return true
	default: // also if Draining is nil
		return false
	}
}

// errorInterval is the shortest interval between two calls of logError that write a log
// line.
const errorInterval = 10 * time.Second

// logError logs an error of a request with a message. It skips all errors within
// errorInterval after an error that it has logged, because otherwise every request would
// log the same failure of the store.
func (s *service) logError(message string, err error) {
	if s.errorLogged.Swap(true) { // it was true already
		return
	}
	time.AfterFunc(errorInterval, func() { s.errorLogged.Store(false) })
	s.Log.Error(message, "error", err)
}
