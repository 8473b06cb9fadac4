package torture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// scriptVariable makes the test binary run as a torture process.
const scriptVariable = "GORMFLAKE_TORTURE_PROCESS"

// layout has short ticks and few workers, so that mistakes soon lead to collisions.
var layout = snowflake.TwitterLayout()

// A script tells a process how to run, from its start to its end.
type script struct {
	Address, Namespace, Journal string        // Journal is the path of the file
	Workers, LoseOneIn          int           // as in Config
	Window, Offset, Skew        time.Duration // Offset is how far the clock is ahead, and its steps are up to Skew around that
	Seed                        uint64        // of the clock and of the issuer
}

// Exit codes of a process that ended on its own.
const (
	exitFailed   = 1 // after an error that must not happen
	exitOrphaned = 4 // because the test process has ended
)

// orphanCheck ends the process when its parent ends. It waits for the end of the standard
// input, whose other end the parent holds.
func orphanCheck() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(exitOrphaned)
}

// play is the main function of a torture process. The text is its script in JSON. It
// returns the exit code.
func play(text string, dial Dialer) int {
	go orphanCheck()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, j, err := begin(text)
	if err != nil {
		return reportError(err)
	}
	// From here on SIGTERM ends the process in order.
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	if err := errors.Join(s.issueIDs(ctx, j, dial), j.close()); err != nil {
		return reportError(err)
	}
	return 0
}

// begin reads the script and opens the journal.
func begin(text string) (*script, *journal, error) {
	s := new(script)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, nil, err
	}
	j, err := openJournal(s.Journal)
	return s, j, err
}

// reportError writes an error that must not happen, and returns the exit code.
func reportError(err error) int {
	fmt.Fprintln(os.Stderr, "torture process:", err)
	return exitFailed
}

// issueIDs issues IDs until ctx ends, under one lease after the other. It returns an error
// only for events that must not happen. For example, a store that is down is no error.
func (s *script) issueIDs(ctx context.Context, j *journal, dial Dialer) error {
	store, closeStore := s.open(ctx, dial)
	if store == nil {
		return nil
	}
	if closeStore != nil {
		defer closeStore()
	}
	answers := &loser{oneIn: s.LoseOneIn}
	store, recorder, err := observe(answers.wrap(store), s.Journal+traceSuffix)
	if err != nil {
		return err
	}
	clock := newClock(s.Offset, s.Skew, s.Seed)
	i := &issuer{journal: j, recorder: recorder, clock: clock, answers: answers, random: rand.New(rand.NewPCG(s.Seed, 2)), window: s.Window}
	for ctx.Err() == nil {
		leased := s.acquire(ctx, store, clock)
		if leased == nil {
			break
		}
		if err := i.serve(ctx, leased); err != nil && !errors.Is(err, errStarved) {
			return err
		}
	}
	return nil
}

// retryPause is the pause before a process tries something again.
const retryPause = 20 * time.Millisecond

// open dials the store again and again until that succeeds. It returns no store if ctx ends
// first.
func (s *script) open(ctx context.Context, dial Dialer) (lease.Store, func()) {
	for ctx.Err() == nil {
		store, closeStore, err := dial(ctx, s.Address, s.Namespace)
		if err == nil {
			return store, closeStore
		}
		nap(ctx, retryPause)
	}
	return nil, nil
}

// acquire tries again and again to acquire a lease. It returns nil if ctx ends first.
func (s *script) acquire(ctx context.Context, store lease.Store, clock *clock) *lease.Lease {
	for ctx.Err() == nil {
		leased, err := lease.Acquire(ctx, store, layout,
			lease.WithWindow(s.Window), lease.WithClock(clock.now),
			lease.WithMaxAhead(3*time.Hour), // so that a process an hour behind takes a worker from one an hour ahead
			lease.WithMaxSkew(24*time.Hour), // because clocks are an hour off, and IDs may be further ahead
			lease.WithDatacenter(0), lease.WithWorkers(0, int64(s.Workers)-1))
		if err == nil {
			return leased
		}
		nap(ctx, retryPause)
	}
	return nil
}

// nap sleeps for d, or until ctx ends.
func nap(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// An issuer takes IDs from a generator, and writes each ID to the journal before it
// takes the next.
type issuer struct {
	journal      *journal
	recorder     observer // writes the trace for the model
	clock        *clock
	answers      *loser // loses answers of the store
	random       *rand.Rand
	window       time.Duration
	patience     time.Duration  // how long it waits without a window
	refusedSince time.Time      // since when there has been no window; zero if there is a window
	steps        int            // of the clock that the journal has
	block        [5000]types.ID // the IDs of one call
}

// errStarved makes a process acquire another lease after it had no window for too long.
// It may then take a worker from another process, so that workers change hands.
var errStarved = errors.New("leasetest: no window for too long")

// closing is how long a process may take to release its worker.
const closing = 5 * time.Second

// serve issues IDs under the lease until ctx ends, or until it has had no window for longer
// than a random patience of 0.3 to 3.3 windows. The error is then errStarved.
func (i *issuer) serve(ctx context.Context, leased *lease.Lease) error {
	if err := i.journal.append([]entry{markerOf(started, 0)}, nil); err != nil {
		return err
	}
	i.refusedSince = time.Time{}
	i.patience = time.Duration((0.3 + 3*i.random.Float64()) * float64(i.window))
	watched := &watchedSource{WorkerSource: leased}
	gen, err := i.generator(watched)
	if err != nil {
		shut(leased.Release)
		return err
	}
	defer shut(gen.Close)
	for err == nil && ctx.Err() == nil {
		err = i.issue(ctx, gen, watched)
		nap(ctx, time.Millisecond+time.Duration(i.random.Int64N(int64(2*time.Millisecond))))
	}
	return err
}

// shut releases a worker. If the store is down, the worker stays leased until its
// bound.
func shut(f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = f(ctx)
}

// generator makes a generator. If the process was paused until the first window had ended, New
// fails and ends the lease, which is no mistake. The error is then errStarved, so that the
// process acquires another lease.
func (i *issuer) generator(source snowflake.WorkerSource) (*snowflake.Generator, error) {
	// Sequences that start at zero certainly collide in a shared tick.
	gen, err := snowflake.New(source, snowflake.WithSequenceStart(snowflake.StartZero))
	if errors.Is(err, snowflake.ErrFenced) {
		return nil, errors.Join(i.noteRefusal(), errStarved)
	}
	return gen, err
}

// issue takes some IDs: rarely a whole block, which needs two ticks, sometimes up to 100
// in one call of Fill, and mostly up to eight by calls of Next.
func (i *issuer) issue(ctx context.Context, gen *snowflake.Generator, watched *watchedSource) error {
	switch n := i.random.IntN(200); {
	case n == 0:
		return i.take(ctx, watched, i.block[:], gen.Fill)
	case n < 40:
		return i.take(ctx, watched, i.block[:1+i.random.IntN(100)], gen.Fill)
	default:
		for range 1 + n%8 {
			if err := i.take(ctx, watched, i.block[:1], nextOf(gen)); err != nil {
				return err
			}
		}
		return nil
	}
}

// nextOf returns gen.Next with the signature of Fill.
func nextOf(gen *snowflake.Generator) func(context.Context, []types.ID) error {
	return func(ctx context.Context, dst []types.ID) (err error) {
		dst[0], err = gen.Next(ctx)
		return err
	}
}

// take calls fill for IDs, and writes them to the journal, after the markers of the events
// that came before them. A fenced generator is no error, until the patience has passed.
func (i *issuer) take(ctx context.Context, watched *watchedSource, dst []types.ID, fill func(context.Context, []types.ID) error) error {
	i.recorder.Began()
	err := fill(ctx, dst)
	switch {
	case err == nil:
		i.recorder.Issued(layout, dst)
		i.refusedSince = time.Time{}
		return i.journal.append(slices.Concat(watched.markers(), i.stepMarkers(), i.answers.markers()), dst)
	case ctx.Err() != nil: // the process is ending
		return nil
	case errors.Is(err, snowflake.ErrFenced):
		nap(ctx, retryPause/4)
		return cmp.Or(i.noteRefusal(), i.starved())
	}
	return err
}

// noteRefusal notes that there is no window. It writes a marker to the journal at the first
// refusal, and nothing at the next refusals, until take has issued IDs again.
func (i *issuer) noteRefusal() error {
	if !i.refusedSince.IsZero() {
		return nil
	}
	i.refusedSince = time.Now()
	return i.journal.append([]entry{markerOf(refused, 0)}, nil)
}

// starved returns errStarved if there has been no window for longer than i.patience.
func (i *issuer) starved() error {
	if time.Since(i.refusedSince) > i.patience {
		return errStarved
	}
	return nil
}

// stepMarkers returns a marker if the clock has stepped since the last call, or nil.
func (i *issuer) stepMarkers() []entry {
	if steps := i.clock.stepCount(); steps != i.steps {
		i.steps = steps
		return []entry{markerOf(stepped, entry(steps))}
	}
	return nil
}
