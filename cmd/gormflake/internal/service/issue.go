package service

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// issue answers GET /v1/ids.
func (s *service) issue(w http.ResponseWriter, r *http.Request) error {
	if s.Generator == nil {
		return failf(http.StatusNotFound, "this server issues no IDs: start it with --dsn or --worker")
	}
	if s.foreign(w, r) {
		return failf(http.StatusForbidden, "a page of another site asks: want one that --allow-origin names")
	}
	count, err := s.count(r.URL.RawQuery)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	if err := s.Generator.Fill(ctx, b.take(count)); err != nil {
		return s.notIssued(r, err)
	}
	writeJSON(w, http.StatusOK, b.json())
	return nil
}

func (s *service) count(query string) (int, error) {
	text, given, err := parameter(query, "count")
	if err != nil || !given {
		return 1, err
	}
	n, err := types.ParseID(text) // as strict about numbers: digits only
	if err != nil || n < 1 || int64(n) > int64(s.MaxCount) {
		return 0, failf(http.StatusBadRequest, "count=%.40q: want a whole number from 1 to %d", text, s.MaxCount)
	}
	return int(n), nil
}

// A block is what a request needs of memory.
type block struct {
	ids  []types.ID
	text []byte
}

var blocks = sync.Pool{New: func() any { return new(block) }}

func (b *block) take(n int) []types.ID {
	b.ids = slices.Grow(b.ids[:0], n)[:n]
	return b.ids
}

func (b *block) json() []byte {
	text := b.text[:0]
	text = append(text, `{"ids":[`...)
	for i, id := range b.ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = strconv.AppendInt(text, int64(id), 10)
		text = append(text, '"')
	}
	text = append(text, "]}\n"...)
	b.text = text
	return text
}

// notIssued is what a client is told. The store's error may name hosts and
// users, and stays in the log.
func (s *service) notIssued(r *http.Request, err error) error {
	_, reason := s.reason(err)
	switch {
	case r.Context().Err() != nil:
		return errGone
	case errors.Is(err, snowflake.ErrClosed):
		return unavailable("%s", reason)
	case errors.Is(err, snowflake.ErrFenced): // the lease has logged it
		return unavailable("no IDs can be issued: %s", reason)
	}
	s.note("no IDs can be issued", err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("no ID could be had within %v", s.Timeout)
	case errors.Is(err, snowflake.ErrExpired):
		return failf(http.StatusServiceUnavailable, "no IDs can be issued: %s", reason)
	}
	return unavailable("no IDs can be issued: %s", reason)
}
