package service

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// issue answers GET /v1/ids?count=n with n new IDs. It refuses requests that pages of other
// sites make a browser send. Even if such a page cannot read the answer, it could use up the
// IDs, whose number per tick is limited. A HEAD request finds out whether IDs can be issued,
// without using an ID.
func (s *service) issue(w http.ResponseWriter, r *http.Request) error {
	if s.Generator == nil {
		return failf(http.StatusNotFound, "this server issues no IDs: start it with --dsn or --worker")
	}
	if s.foreign(w, r) {
		return failf(http.StatusForbidden, "a browser asks for the page of another site, or does not name the site: want one that --allow-origin names, a token, or another client")
	}
	count, err := s.count(r.URL.RawQuery)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return s.wouldIssue(w, r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	// Wait until the answers that are being sent leave enough of Config.MaxMemory.
	memory, size := s.memory(count), blockSize(count)
	if err := memory.Acquire(ctx, size); err != nil {
		return s.noMemory(r)
	}
	defer memory.Release(size)
	b := takeBlock(count)
	defer b.free()
	if err := s.Generator.Fill(ctx, b.ids); err != nil {
		return s.notIssued(r, err)
	}
	b.send(w, listingFor(r), time.Now().Add(sendTimeout))
	return nil // the response has begun, so an error could not be answered any more
}

// wouldIssue answers a HEAD request, with the status that a GET request would have if it did
// not have to wait.
func (s *service) wouldIssue(w http.ResponseWriter, r *http.Request) error {
	if err := s.Generator.Health(); err != nil {
		return s.notIssued(r, err)
	}
	w.Header()["Content-Type"] = listingFor(r).contentType
	return nil
}

// noMemory returns the error for a request that has waited for memory until its timeout,
// because other answers are still being sent, or until its client has gone.
func (s *service) noMemory(r *http.Request) error {
	if r.Context().Err() != nil {
		return errGone
	}
	s.logError("answers wait for memory: clients read slowly, or --max-memory is too small", nil)
	return unavailable("the server is sending as much as it may: ask again, or for fewer IDs")
}

// memory returns the semaphore that counts the bytes of blocks of n IDs. Small and large
// blocks have a semaphore each, with half of the memory for answers. Otherwise small blocks
// would wait behind large blocks whose clients read slowly.
func (s *service) memory(n int) *semaphore.Weighted {
	if n <= pooledIDs {
		return s.small
	}
	return s.large
}

// count returns the value of the parameter count in the query, which is the number of IDs to
// issue. It returns 1 if the query does not have it.
func (s *service) count(query string) (int, error) {
	text, given, err := parameter(query, "count")
	if err != nil || !given {
		return 1, err
	}
	n, err := types.ParseID(text) // ParseID accepts only digits, like this parameter
	if err != nil || n < 1 || int64(n) > int64(s.MaxCount) {
		return 0, failf(http.StatusBadRequest, "count=%.40q: want a whole number from 1 to %d", text, s.MaxCount)
	}
	return int(n), nil
}

// notIssued returns the error for the client if the generator has issued no ID because of
// err. The text of err goes only to the log, because an error of the store may contain host
// and user names.
func (s *service) notIssued(r *http.Request, err error) error {
	_, reason := s.reason(err)
	switch {
	case r.Context().Err() != nil:
		return errGone
	case errors.Is(err, snowflake.ErrClosed):
		return unavailable("%s", reason)
	case errors.Is(err, snowflake.ErrFenced): // the lease has already logged it
		return unavailable("no IDs can be issued: %s", reason)
	}
	if errors.Is(err, context.DeadlineExceeded) { // not logged, because one slow request does not mean that the service has failed
		return unavailable("no ID could be had within %v", s.Timeout)
	}
	s.logError("no IDs can be issued", err)
	if errors.Is(err, snowflake.ErrExpired) { // another request would fail too, so the client is not told to retry
		return failf(http.StatusServiceUnavailable, "no IDs can be issued: %s", reason)
	}
	return unavailable("no IDs can be issued: %s", reason)
}
