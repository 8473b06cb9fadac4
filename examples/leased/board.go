package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gormflake/gormflake/lease"
)

const boardTimeout = time.Second

func (s *show) explain() {
	s.print("%d processes write orders with lines to one database. They share %d worker\n", s.processes, s.processes)
	s.print("numbers; each reserves one for %v ahead, in the table snowflake_workers.\n\n", s.window)
	s.print("  A +1.6s   process A has reserved this worker until 1.6 s from now\n")
	s.print("  A -0.4s   that ended 0.4 s ago: A is fenced, and another one may take it\n")
	s.print("  A*        A is paused        Ax        A was killed\n")
	s.print("  -         given back         orders    written by all processes\n\n")
}

// cellWidth is that of the widest cell, "C* -10.5s", and a gap.
const cellWidth = 10

func (s *show) head() {
	s.began = time.Now()
	var line strings.Builder
	for worker := range s.processes {
		fmt.Fprintf(&line, "%-*s", cellWidth, fmt.Sprint("worker ", worker))
	}
	s.print("\n  time  %sorders\n", line.String())
}

// board prints who holds what, as the database says.
func (s *show) board(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	in, err := lease.Inspect(ctx, s.store)
	if err != nil {
		s.event("the database does not answer: %v", err)
		return
	}
	s.print("%s\n", s.line(in.Holders, time.Now()))
}

func (s *show) line(holders []lease.Holder, now time.Time) string {
	of := map[int64]lease.Holder{}
	for _, h := range holders {
		of[h.Worker] = h
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%6.1f  ", now.Sub(s.began).Seconds())
	for worker := range s.processes {
		fmt.Fprintf(&line, "%-*s", cellWidth, s.cell(of[int64(worker)], now))
	}
	orders := 0
	for _, p := range s.crew {
		orders += p.orders
	}
	fmt.Fprintf(&line, "%6d", orders)
	return line.String()
}

func (s *show) cell(h lease.Holder, now time.Time) string {
	if h.Owner == "" {
		return "-"
	}
	return fmt.Sprintf("%-2s %+.1fs", s.holder(h), h.Until.Sub(now).Seconds())
}

// holder names the process that holds the worker, or ? if it is not of this run.
func (s *show) holder(h lease.Holder) string {
	for _, p := range s.crew {
		if p.holds(h) {
			return p.name + p.state.mark()
		}
	}
	return "?"
}

func (s state) mark() string {
	switch s {
	case paused:
		return "*"
	case killed:
		return "x"
	}
	return ""
}

// event prints what happened between two lines of the board.
func (s *show) event(format string, args ...any) {
	s.print("        > "+format+"\n", args...)
}

// print ignores that nobody reads any more: the processes have to be ended.
func (s *show) print(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }
