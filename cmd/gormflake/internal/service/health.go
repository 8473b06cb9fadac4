package service

import (
	"errors"
	"net/http"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// healthReport is the body of an answer about health. openapi.json lists the values of
// Status. The window of a lease is the time for which the process has reserved its worker. A
// generator is fenced, that is it issues no ID, after the end of the window.
type healthReport struct {
	Status       string `json:"status"`
	Until        string `json:"until,omitempty"`         // end of the window
	Since        string `json:"since,omitempty"`         // end of the window, if the generator is fenced
	FailingSince string `json:"failing_since,omitempty"` // time since which the lease cannot extend the window
	Detail       string `json:"detail,omitempty"`
}

// alive answers GET /livez. A process that can answer does not have to be restarted.
func (s *service) alive(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, healthReport{Status: "ok"})
}

// health answers GET /readyz and /healthz, with 503 if the process is about to end or cannot
// issue IDs at present. A service that only decodes IDs has no generator, and is always
// ready. health does not read the store, so that probes do not load the database.
func (s *service) health(w http.ResponseWriter, _ *http.Request) error {
	if s.draining() {
		return &problem{status: http.StatusServiceUnavailable, temporary: true, body: healthReport{Status: "draining", Detail: "the server is shutting down"}}
	}
	if s.Generator == nil {
		return reply(w, healthReport{Status: "ok"})
	}
	h, l := healthReport{Status: "ok"}, s.lease()
	if err := s.Generator.Health(); err != nil {
		h.Status, h.Detail = s.reason(err)
		if l != nil && errors.Is(err, snowflake.ErrFenced) { // l is nil if the worker is not leased
			h.Since = stamp(l.Stats().Until)
		}
		return &problem{status: http.StatusServiceUnavailable, temporary: true, body: h}
	}
	if l != nil {
		stats := l.Stats()
		h.Until = stamp(stats.Until)
		if !stats.FailingSince.IsZero() {
			h.FailingSince = stamp(stats.FailingSince)
		}
	}
	return reply(w, h)
}

// reason returns why no ID can be issued, as a word for programs and as a sentence. err is the
// error of the generator. The sentence does not quote err, because everybody may read /readyz,
// and an error of the store may name hosts and users.
func (s *service) reason(err error) (status, sentence string) {
	switch {
	case errors.Is(err, snowflake.ErrClosed):
		return "closed", "the server is shutting down"
	case errors.Is(err, snowflake.ErrFenced):
		return "fenced", s.whyFenced()
	case errors.Is(err, snowflake.ErrClockBackwards):
		return "clock", "the clock of the server has been set back"
	case errors.Is(err, snowflake.ErrClockJumped):
		return "clock", "the clock of the server has jumped ahead"
	case errors.Is(err, snowflake.ErrExpired):
		return "expired", "the layout has expired at " + stamp(s.Layout.Expires())
	}
	return "failing", "the log of the server says why"
}

// whyFenced returns why the generator is fenced, for people, without the error text of the
// store.
func (s *service) whyFenced() string {
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
		return text + ", and could not be extended since " + stamp(stats.FailingSince) + "; the log of the server says why"
	}
	return text
}
