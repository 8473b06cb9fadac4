package main

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// A scene is what happens to the processes at a time after their start.
type scene struct {
	at  time.Duration
	act func(context.Context) error
}

// scenes begin with the pause, so that the worker of the paused process is free
// before that of the killed one, and the fresh one takes it.
func (s *show) scenes() []scene {
	w := s.window
	return []scene{
		{2 * w, s.pauseC},
		{2*w + w*3/4, s.killB},
		{2*w + w*5/4, s.replaceB},
		{2*w + w*5/2, s.resumeC},
	}
}

func (s *show) pauseC(ctx context.Context) error {
	c := s.crew[2]
	if !canPause {
		s.event("%s is not paused: this system has no SIGSTOP", c.name)
		return nil
	}
	if err := s.pauseIdle(ctx, c); err != nil {
		return err
	}
	s.event("%s is paused (SIGSTOP), for %v: longer than its window", c.name, s.window*5/2)
	return nil
}

// pauseIdle pauses a process that does not hold SQLite's writer lock. If it did,
// all others would have to wait for it too.
func (s *show) pauseIdle(ctx context.Context, p *process) error {
	const attempts = 100
	for range attempts {
		p.pause()
		p.state = paused
		if s.canWrite(ctx) {
			return nil
		}
		p.resume()
		p.state = writing
		if err := sleep(ctx, pace/10); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %s holds the database's lock whenever it is paused, %d times", p.name, attempts)
}

// canWrite reports whether a transaction that writes can begin.
func (s *show) canWrite(ctx context.Context) bool {
	return s.writer.WithContext(ctx).Transaction(func(*gorm.DB) error { return nil }) == nil
}

func (s *show) killB(context.Context) error {
	b := s.crew[1]
	b.state = killed
	b.kill()
	s.event("%s is killed (SIGKILL)", b.name)
	return nil
}

func (s *show) replaceB(context.Context) error {
	s.event("a fresh process starts in place of %s", s.crew[1].name)
	return s.startOne()
}

func (s *show) resumeC(context.Context) error {
	c := s.crew[2]
	for _, p := range s.crew {
		p.seen = p.orders
	}
	if c.state == paused {
		s.event("%s goes on (SIGCONT)", c.name)
		c.resume()
		c.state = writing
	}
	return nil
}
