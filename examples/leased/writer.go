package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// workVariable holds the work of a process that writes, as JSON. A DSN with a
// password does not belong among the arguments, which everybody can read.
const workVariable = "LEASED_EXAMPLE_WORK"

type work struct {
	Name    string
	DSN     string
	Window  time.Duration
	Workers int
}

// A note is what a process that writes tells the one that has started it, as a
// line of JSON on its standard output.
type note struct {
	Ready  bool   `json:",omitempty"` // it holds a worker
	Says   string `json:",omitempty"`
	Orders int    `json:",omitempty"` // committed
}

// pause between two transactions of a writer.
const pace = 100 * time.Millisecond

func isWriter() bool { return os.Getenv(workVariable) != "" }

// writerMain writes until its standard input ends, as it also does when the
// process that has started it dies, and returns the exit code.
func writerMain() int {
	signal.Ignore(os.Interrupt) // at ^C the other process ends this one in good order
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := write(ctx, os.Getenv(workVariable), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func write(ctx context.Context, text string, stdout io.Writer) (err error) {
	w := &writer{notes: json.NewEncoder(stdout)}
	if err := json.Unmarshal([]byte(text), &w.work); err != nil {
		return fmt.Errorf("%s: %w", workVariable, err)
	}
	w.db, err = connect(w.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disconnect(w.db)) }()
	if err := w.begin(ctx); ctx.Err() != nil && w.gen == nil {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.gen.Close(context.Background())) }()
	return w.writeAll(ctx)
}

// A writer is one process that writes orders.
type writer struct {
	work
	db    *gorm.DB
	gen   *snowflake.Generator
	notes *json.Encoder

	worker  int64     // under which the last ID was made
	until   time.Time // the end of its window before that
	refused bool
}

// open is all the setting up that keys take. Two of the options make an example
// of it: a short window, and so few workers that a process which comes or comes
// back has to take what another one has left. By default there are 1,024.
func (w *writer) open(ctx context.Context) (*snowflake.Generator, error) {
	return gormflake.Open(ctx, w.db,
		gormflake.WithStore(namespace()),
		gormflake.WithLease(
			lease.WithWindow(w.Window),
			lease.WithDatacenter(0),
			lease.WithWorkers(0, int64(w.Workers)-1),
			lease.WithLogger(slog.New(slog.DiscardHandler))))
}

// begin opens as soon as a worker is free and the database answers. It returns
// an error once ctx has ended.
func (w *writer) begin(ctx context.Context) error {
	for waited := false; ; waited = true {
		gen, err := w.open(ctx)
		if err == nil {
			return w.opened(gen)
		}
		if !waited {
			if err := w.say("waits for a worker: %v", err); err != nil {
				return err
			}
		}
		if err := sleep(ctx, w.Window/4); err != nil {
			return err
		}
	}
}

func (w *writer) opened(gen *snowflake.Generator) error {
	w.gen = gen
	held := w.held()
	w.worker, w.until = held.Worker, held.Until
	return w.notes.Encode(note{Ready: true, Says: fmt.Sprintf("holds worker %d", w.worker)})
}

func (w *writer) held() lease.Stats {
	l, ok := w.gen.Source().(*lease.Lease)
	if !ok {
		return lease.Stats{}
	}
	return l.Stats()
}

func (w *writer) writeAll(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.writeSome(); err != nil {
			return err
		}
		_ = sleep(ctx, pace)
	}
	return nil
}

// writeSome writes a few orders. Without a window there are no keys and no
// orders for a while: it is tried again.
func (w *writer) writeSome() error {
	until := w.held().Until
	orders := someOrders(w.Name)
	err := insert(w.db, orders)
	switch {
	case errors.Is(err, snowflake.ErrFenced) && w.refused:
		return nil
	case errors.Is(err, snowflake.ErrFenced):
		w.refused = true
		return w.say("gets no IDs: %v", err)
	case err != nil:
		return err
	}
	w.refused = false
	if err := w.lookAt(orders[0].ID, until); err != nil {
		return err
	}
	return w.notes.Encode(note{Orders: len(orders)})
}

// lookAt tells from an ID whether the window that was known at the one before
// had ended when it was made: then the process was fenced meanwhile. until is the
// end of the window that is known now. Nothing of this is needed to be safe.
func (w *writer) lookAt(id types.ID, until time.Time) error {
	made := w.gen.Layout().Decompose(id)
	fenced, was := made.Time.Sub(w.until), w.worker
	w.worker, w.until = made.Worker, until
	if fenced >= 0 {
		w.until = w.held().Until // until was read before there was another window
	}
	switch {
	case fenced < 0 && w.worker == was:
		return nil
	case fenced < 0:
		return w.say("worker %d is another's now; goes on under worker %d", was, w.worker)
	case w.worker == was:
		return w.say("its window ended %v ago: was fenced, but nobody took worker %d; goes on under it", rounded(fenced), was)
	}
	return w.say("its window ended %v ago: was fenced, and worker %d is another's; goes on under worker %d", rounded(fenced), was, w.worker)
}

func (w *writer) say(format string, args ...any) error {
	return w.notes.Encode(note{Says: fmt.Sprintf(format, args...)})
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
