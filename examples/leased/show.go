package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
)

const (
	startTimeout = 30 * time.Second
	endTimeout   = 15 * time.Second
)

// A show is the processes, what happens to them, and what is printed about it.
type show struct {
	config
	out     io.Writer
	db      *gorm.DB
	writer  *gorm.DB    // impatient
	store   lease.Store // to read who holds what
	before  counts      // of earlier runs
	reports chan report
	crew    []*process // in the order of their start
	began   time.Time
}

// openShow prepares the database. The caller closes the show.
func openShow(ctx context.Context, cfg config, out io.Writer) (*show, error) {
	s := &show{config: cfg, out: out, reports: make(chan report)}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *show) prepare(ctx context.Context) (err error) {
	if s.db, err = connect(s.dsn); err != nil {
		return err
	}
	if s.writer, err = connect(impatient(s.dsn)); err != nil {
		return err
	}
	if err := s.db.WithContext(ctx).AutoMigrate(&Order{}, &Line{}); err != nil {
		return fmt.Errorf("create tables: %w", err)
	}
	s.store = sqllease.New(s.db, namespace())
	if _, err := s.store.Load(ctx); err != nil { // creates snowflake_workers
		return err
	}
	s.before, err = countRows(s.db.WithContext(ctx))
	return err
}

func (s *show) close() error {
	var errs []error
	for _, db := range []*gorm.DB{s.db, s.writer} {
		if db != nil {
			errs = append(errs, disconnect(db))
		}
	}
	return errors.Join(errs...)
}

// run returns when all processes have ended.
func (s *show) run(ctx context.Context) error {
	s.explain()
	err := s.startAll(ctx)
	if err == nil {
		err = s.play(ctx)
	}
	if ctx.Err() != nil {
		s.event("interrupted: all processes end")
	}
	if err := errors.Join(err, s.endAll()); err != nil {
		return err
	}
	s.event("all processes have ended")
	s.board(ctx)
	return s.judge(ctx)
}

// startAll returns when every process holds a worker.
func (s *show) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not every process has a worker after %v", startTimeout))
	defer cancel()
	for range s.processes {
		if err := s.startOne(); err != nil {
			return err
		}
	}
	for s.any(starting) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r := <-s.reports:
			if err := s.hear(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *show) startOne() error {
	w := work{Name: string(rune('A' + len(s.crew))), DSN: s.dsn, Window: s.window, Workers: s.processes}
	p, err := start(w, s.reports)
	if err != nil {
		return err
	}
	s.crew = append(s.crew, p)
	return nil
}

// play lets the scenes happen, and shows every second who holds what.
func (s *show) play(ctx context.Context) error {
	s.head()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	began := time.Now()
	for _, scene := range s.scenes() {
		if err := s.until(ctx, began.Add(scene.at), second.C); err != nil {
			return err
		}
		if err := scene.act(ctx); err != nil {
			return err
		}
	}
	return s.until(ctx, began.Add(s.duration), second.C)
}

func (s *show) until(ctx context.Context, at time.Time, second <-chan time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case <-second:
			s.board(ctx)
		case r := <-s.reports:
			if err := s.hear(r); err != nil {
				return err
			}
		}
	}
}

// hear takes note of a report. That a process ends without being told to is an
// error.
func (s *show) hear(r report) error {
	r.orders += r.Orders
	if r.Ready && r.state == starting {
		r.state = writing
	}
	switch {
	case r.Ready:
		s.event("%s, process %d, %s", r.name, r.pid(), r.Says)
	case r.Says != "":
		s.event("%s: %s", r.name, r.Says)
	}
	if r.end {
		return farewell(r)
	}
	return nil
}

func farewell(r report) error {
	r.gone = true
	switch {
	case r.state == killed:
		return nil
	case r.err != nil:
		return r.err
	case r.state != ending:
		return fmt.Errorf("process %s has ended on its own", r.name)
	}
	return nil
}

// endAll returns when all processes have ended: in good order, or killed where
// that takes too long.
func (s *show) endAll() error {
	for _, p := range s.crew {
		p.finish()
	}
	late := time.AfterFunc(endTimeout, func() {
		for _, p := range s.crew {
			p.kill()
		}
	})
	defer late.Stop()
	var errs []error
	for s.anyLeft() {
		errs = append(errs, s.hear(<-s.reports))
	}
	return errors.Join(errs...)
}

func (s *show) any(is state) bool {
	return slices.ContainsFunc(s.crew, func(p *process) bool { return p.state == is })
}

func (s *show) anyLeft() bool {
	return slices.ContainsFunc(s.crew, func(p *process) bool { return !p.gone })
}
