package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A process that is paused while SQLite's writer lock is taken may be the one
// that has it: it is paused again and again until the lock is free.
func TestPauseIdle(t *testing.T) {
	t.Parallel()
	if !canPause {
		t.Skip("this system has no SIGSTOP")
	}
	s := emptyShow(t)
	if err := s.startAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.endAll(); err != nil {
			t.Error(err)
		}
	})
	lock := s.db.Begin() // immediate, as package dsn has it
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.pauseIdle(ctx, s.crew[0]); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with the lock taken: %v, want to go on trying until the deadline", err)
	}
	if err := lock.Rollback().Error; err != nil {
		t.Fatal(err)
	}
	if err := s.pauseIdle(t.Context(), s.crew[0]); err != nil {
		t.Errorf("with the lock free: %v", err)
	}
}
