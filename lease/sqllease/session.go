package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

const leftOpen = "the connection is in a transaction that a program has left open, and which would undo or commit what the store writes: end every transaction, and set no autocommit"

// A session is what a connection is found to be.
type session struct {
	server   string // which answers
	dirt     string // what a program has left, under which the store must not write; empty: nothing
	findings []finding
}

// A finding is a setting under which the database can forget.
type finding struct {
	refuse bool   // a store that starts
	text   string // what is found and how to fix it
}

func (s *session) add(refuse bool, text string) {
	s.findings = append(s.findings, finding{refuse, text})
}

// A dirtError is a connection that the store has not used.
type dirtError string

func (e dirtError) Error() string { return string(e) }

// inspect refuses a connection on which the store must not write, and logs what
// has changed in the settings of its server.
func (s *store) inspect(ctx context.Context, conn *sql.Conn) error {
	var t table
	known := s.ready.Load()
	if known != nil {
		t = known.table
	}
	found, err := s.dialect.inspect(ctx, conn, t)
	switch {
	case err != nil:
		return err
	case found.dirt == "":
		if known != nil {
			s.note(ctx, found)
		}
		return nil
	case s.dialect.rollBack == "":
		return dirtError(found.dirt)
	}
	s.warnOnce(ctx, dirtError(found.dirt))
	_, err = conn.ExecContext(ctx, s.dialect.rollBack)
	return err
}

// warnOnce logs why a connection has been closed.
func (s *store) warnOnce(ctx context.Context, cause error) {
	if _, known := s.warned.LoadOrStore(cause.Error(), true); !known {
		s.logger.WarnContext(ctx, "sqllease: connection not used, and what was open on it rolled back", "cause", cause)
	}
}

// note logs the settings that were not found when the server was looked at last.
func (s *store) note(ctx context.Context, found session) {
	if s.volatile {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range found.findings {
		if slices.Contains(s.noted[found.server], f) {
			continue
		}
		level := slog.LevelWarn
		if f.refuse {
			level = slog.LevelError
		}
		s.logger.Log(ctx, level, "sqllease: "+f.text, "server", found.server)
	}
	s.noted[found.server] = found.findings
}

// Check implements [lease.Checker].
func (s *store) Check(ctx context.Context) error {
	_, err := bounded(ctx, s, func() (none struct{}, err error) {
		known, err := s.prepare(ctx)
		if err == nil {
			_, err = s.checkShape(ctx, known.table)
		}
		return none, err
	})
	return err
}

// checkSettings refuses a database that forgets, as far as its settings show, or
// logs that.
func (s *store) checkSettings(ctx context.Context, found shape) error {
	var is session
	err := s.attempt(ctx, func(conn *sql.Conn) (err error) {
		is, err = s.dialect.inspect(ctx, conn, table{})
		return err
	})
	if err != nil || s.volatile {
		return err
	}
	var errs []error
	for _, f := range append(is.findings, found.findings...) {
		if f.refuse {
			errs = append(errs, fmt.Errorf("%s"+orAccept, f.text))
		}
	}
	if errs == nil {
		s.note(ctx, is)
	}
	return errors.Join(errs...)
}
