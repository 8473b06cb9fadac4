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
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/types"
)

type service struct {
	Config
	token     *[sha256.Size]byte // hash of the token; nil if no token is required
	anyone    bool               // whether pages of all sites may read the answers
	last      types.ID           // the last ID of the layout
	durations *prometheus.HistogramVec
	noted     atomic.Bool // whether an error was logged a moment ago
	workers   workerList

	small, large *semaphore.Weighted // memory for blocks
}

// lease returns the lease of the generator, or nil if the worker is fixed.
func (s *service) lease() *lease.Lease {
	l, _ := s.Generator.Source().(*lease.Lease)
	return l
}

func (s *service) draining() bool {
	select {
	case <-s.Draining:
		return true
	default: // also if Draining is nil
		return false
	}
}

// noteEvery is the shortest interval between two log lines about errors of requests.
const noteEvery = 10 * time.Second

// note logs an error. It skips errors that follow within noteEvery.
func (s *service) note(what string, err error) {
	if s.noted.Swap(true) {
		return
	}
	time.AfterFunc(noteEvery, func() { s.noted.Store(false) })
	s.Log.Error(what, "error", err)
}
