package service

import (
	"errors"
	"net/http"

	"github.com/gormflake/gormflake/lease"
)

// leased is what a lease reports about itself.
type leased interface {
	Stats() lease.Stats
	Health() error
}

type health struct {
	Status       string `json:"status"`
	Until        string `json:"until,omitempty"`
	Since        string `json:"since,omitempty"`
	FailingSince string `json:"failingSince,omitempty"`
	Error        string `json:"error,omitempty"`
}

// lease is nil under a fixed worker, and where nothing is issued.
func (s *service) lease() leased {
	if s.Generator == nil {
		return nil
	}
	l, _ := s.Generator.Source().(leased)
	return l
}

// health answers GET /healthz, without asking the store.
func (s *service) health(w http.ResponseWriter, _ *http.Request) error {
	l := s.lease()
	if l == nil {
		return reply(w, health{Status: "ok"})
	}
	err, stats := l.Health(), l.Stats()
	if err != nil {
		return &problem{
			status: http.StatusServiceUnavailable, passes: true,
			body: health{Status: "fenced", Since: stamp(stats.Until), Error: s.fenced()},
		}
	}
	h := health{Status: "ok", Until: stamp(stats.Until)}
	if !stats.FailingSince.IsZero() {
		h.FailingSince = stamp(stats.FailingSince)
	}
	return reply(w, h)
}

// fenced is why nothing is issued, without what the store said.
func (s *service) fenced() string {
	l := s.lease()
	if l == nil {
		return "the window of the worker has ended"
	}
	stats := l.Stats()
	text := "the window of the worker ended at " + stamp(stats.Until)
	switch {
	case errors.Is(stats.Failure, lease.ErrNoFreeWorker):
		return text + ", and no worker is free"
	case !stats.FailingSince.IsZero():
		return text + ", and the database has failed since " + stamp(stats.FailingSince)
	}
	return text
}
