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
// input, and answers with the figures that it has measured during the command.
type holder struct {
	options
	store    watchedStore
	gens     []*snowflake.Generator // the generator of each lease, with the same index
	leases   []*lease.Lease
	attempts atomic.Int64 // failed attempts to acquire or release a lease during the present command

	// turns has one place per connection of the pool. When all leases are released at once,
	// each release first waits for a place, so that it need not wait for a connection. The
	// benchmark does not measure the queue of a pool.
	turns chan struct{}
}

// holdLeases runs the process that holds the leases, until its input, commands, ends. It
// writes the answers as JSON.
func holdLeases(o options, commands io.Reader, answers io.Writer) error {
	db, err := o.open(o.connections)
	if err != nil {
		return err
	}
	// Only a database server has a clock of its own. SQLite, for example, has none.
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

// do executes a command, which is start, hold or release, and returns the figures of the time
// that it took.
func (h *holder) do(command string) (figures, error) {
	h.store.watch.reset() // forget the writes since the previous command
	before, err := cpu.Time()
	if err != nil {
		return figures{}, err
	}
	switch command {
	case start:
		h.each(h.acquire)
	case hold:
		time.Sleep(h.holdTime)
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
	// The figures of a lease count from its start, and not only during the command.
	for _, l := range h.leases {
		s := l.Stats()
		f.FailedExtensions += s.Failures
		f.LostExtensions += s.Losses + s.Regressions
	}
	return f, err
}

// each calls do with the index of each lease, for all leases at the same time, and waits for
// all calls.
func (h *holder) each(do func(i int)) {
	var wg sync.WaitGroup
	for i := range h.gens {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// inTurn returns a function that calls do when a place of h.turns is free, so that at most as
// many calls run at once as there are connections.
func (h *holder) inTurn(do func(i int)) func(i int) {
	return func(i int) {
		h.turns <- struct{}{}
		defer func() { <-h.turns }()
		do(i)
	}
}

// acquire acquires the lease with index i, and tries again until it succeeds. It logs only the
// first error of a command, because thousands of leases may have the same error.
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

// try makes one attempt to acquire the lease with index i, and creates its generator.
func (h *holder) try(i int) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	h.leases[i], err = lease.Acquire(context.Background(), h.store, h.layout(), lease.WithWindow(h.window), lease.WithLogger(quiet))
	if err != nil {
		return err
	}
	h.gens[i], err = snowflake.New(h.leases[i])
	return err
}

// close closes the generator of a lease, which releases the lease. A failure counts as a failed
// attempt.
func (h *holder) close(i int) {
	if err := h.gens[i].Close(context.Background()); err != nil {
		h.attempts.Add(1)
	}
}

// distinct returns the number of different workers of the leases, which must be the number of
// leases. It finds the worker of each lease in an ID that the generator issues now, because
// that also shows that the lease is still valid.
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
