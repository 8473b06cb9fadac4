package service

import (
	"context"
	"net/http"
	"time"

	"github.com/gormflake/gormflake/lease"
)

// freshFor is how long a list of workers is used after it was read, so that the database is
// read at most once a second.
const freshFor = time.Second

// listWorkers answers GET /v1/workers with the workers of the store and their holders.
func (s *service) listWorkers(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := parameter(r.URL.RawQuery, ""); err != nil {
		return err
	}
	if s.Store == nil {
		return failf(http.StatusNotFound, "this server has no database with workers: start it with --dsn")
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	workers, err := s.cachedWorkers(ctx)
	switch {
	case r.Context().Err() != nil:
		return errGone
	case err != nil:
		s.logError("the workers cannot be listed", err)
		return unavailable("the database cannot be read: the log of the server says why")
	}
	return reply(w, map[string][]worker{"workers": workers})
}

// cachedWorkers returns the workers of the store, or the last list if it is fresh. It includes
// the owners, which name hosts, only if the server has a token. Each client that gets the list
// has then sent the token. One request reads the store at a time, and the others wait for
// its list.
func (s *service) cachedWorkers(ctx context.Context) ([]worker, error) {
	l := &s.workers
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil { // ctx has ended while another request held mu
		return nil, context.Cause(ctx)
	}
	if time.Since(l.at) < freshFor {
		return l.workers, nil
	}
	inspection, err := lease.Inspect(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	workers := make([]worker, len(inspection.Holders))
	for i, h := range inspection.Holders {
		workers[i] = worker{h.Datacenter, h.Worker, h.Owner, stamp(h.Until), h.State(now).String()}
		if s.token == nil {
			workers[i].Owner = ""
		}
	}
	l.workers, l.at = workers, now
	return workers, nil
}
