package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gormflake/gormflake/bench/internal/cpu"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// retryDelay is the delay after which a lease that could not be acquired is tried again,
// as if a supervisor restarted the process.
const retryDelay = time.Second

// holder is the process that holds the leases. It executes a command for each line of its
// input, and answers with figures.
type holder struct {
	options
	store    watchedStore
	gens     []*snowflake.Generator
	leases   []*lease.Lease
	attempts atomic.Int64 // that have failed during the present command

	// turns has one place per connection. When all leases are released at once, each waits
	// for a place, because the benchmark does not measure the queue of a pool.
	turns chan struct{}
}

// holdLeases runs the process that holds the leases, until its input ends.
func holdLeases(o options, commands io.Reader, answers io.Writer) error {
	db, err := o.open(o.connections)
	if err != nil {
		return err
	}
	store, ok := sqllease.New(db, sqllease.WithTable(table)).(sqlStore)
	if !ok {
		return fmt.Errorf("the store of %s has no clock: want PostgreSQL, MySQL or MariaDB", db.Name())
	}
	h := &holder{
		options: o, store: watchedStore{sqlStore: store, watch: newWatch()},
		gens: make([]*snowflake.Generator, o.leases), leases: make([]*lease.Lease, o.leases),
		turns: make(chan struct{}, o.connections),
	}
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		f, err := h.do(lines.Text())
		if err != nil {
			return err
		}
		if err := json.NewEncoder(answers).Encode(f); err != nil {
			return err
		}
	}
	return lines.Err()
}

// do executes a command, and returns the figures of this time.
func (h *holder) do(command string) (figures, error) {
	h.store.watch.reset() // forgets the writes since the previous command
	before, err := cpu.Time()
	if err != nil {
		return figures{}, err
	}
	switch command {
	case start:
		h.each(h.acquire)
	case hold:
		time.Sleep(h.hold)
	case release:
		h.each(h.inTurn(h.close))
	}
	f := h.store.watch.reset()
	after, err := cpu.Time()
	if err != nil {
		return figures{}, err
	}
	f.ClientCPU = (after - before).Seconds()
	f.Attempts = int(h.attempts.Swap(0))
	if command != release { // after a release, no generator issues an ID
		f.Distinct, err = h.distinct()
	}
	for _, l := range h.leases {
		s := l.Stats()
		f.FailedExtensions += s.Failures
		f.LostExtensions += s.Losses + s.Regressions
	}
	return f, err
}

// each calls do for all leases at the same time.
func (h *holder) each(do func(i int)) {
	var wg sync.WaitGroup
	for i := range h.gens {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// inTurn returns a function that calls do when a place of turns is free, so that at most as
// many calls run at once as there are connections.
func (h *holder) inTurn(do func(i int)) func(i int) {
	return func(i int) {
		h.turns <- struct{}{}
		defer func() { <-h.turns }()
		do(i)
	}
}

// acquire acquires a lease, and tries again until it succeeds. It logs only the first
// error of a command.
func (h *holder) acquire(i int) {
	for {
		err := h.try(i)
		if err == nil {
			return
		}
		if h.attempts.Add(1) == 1 {
			slog.Warn("the first attempt that failed", "error", err)
		}
		time.Sleep(retryDelay)
	}
}

// try acquires a lease and starts its generator.
func (h *holder) try(i int) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	h.leases[i], err = lease.Acquire(context.Background(), h.store, h.layout(), lease.WithWindow(h.window), lease.WithLogger(quiet))
	if err != nil {
		return err
	}
	h.gens[i], err = snowflake.New(h.leases[i])
	return err
}

// close closes the generator of a lease, which releases the lease.
func (h *holder) close(i int) {
	if err := h.gens[i].Close(context.Background()); err != nil {
		h.attempts.Add(1)
	}
}

// distinct returns the number of workers that hold a lease at once. Each generator shows
// its worker by an ID.
func (h *holder) distinct() (int, error) {
	workers := map[int64]bool{}
	for _, gen := range h.gens {
		id, err := gen.TryNext()
		if err != nil {
			return len(workers), err
		}
		workers[gen.Layout().Decompose(id).Worker] = true
	}
	return len(workers), nil
}
