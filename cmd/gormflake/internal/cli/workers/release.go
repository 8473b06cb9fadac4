package workers

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
)

const releaseHelp = `Take workers from holders that are known to be dead.

WORKER is the datacenter and the worker, as 0/7; or the worker alone where the
layout has no datacenters.

It is safe even if the holder is alive: its bound stays, and the next holder
starts above all that it may still issue. It finds that the worker is lost within
a third of its window, and takes another one. A holder that raises its bound
while you answer has shown that it is alive, and keeps the worker.

It does not make the worker free at once. One that is "lapsed" is free already;
the others are once the clock has reached the bound. What is gained: a process
with lease.WithMaxAhead takes a worker that nobody holds before one that somebody
may hold. That matters where the bound is far ahead of the clock, such as after
the holder's clock was wrong; see also "gormflake workers reset".`

// releaseFlags holds the flags of workers release.
type releaseFlags struct {
	workersFlags
	confirm flags.Confirm
}

// newRelease returns the command workers release. now is the clock by which the command
// computes when a released worker is free.
func newRelease(now func() time.Time) *cobra.Command {
	f := &releaseFlags{workersFlags: workersFlags{now: now}}
	cmd := &cobra.Command{
		Use:     "release WORKER...",
		Short:   "Take workers from holders that are known to be dead",
		Long:    releaseHelp,
		Example: `  gormflake workers release 0/7 --dsn sqlite://app.db --yes`,
		Args:    flags.AtLeastOneArgument("WORKER"),

		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withRecords(cmd.Context(), flags.ReadWrite, func(in *lease.Inspection) error { return f.release(cmd, in, args) })
		},
	}
	f.register(cmd)
	f.confirm.Register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// release takes the named workers, such as 0/7, from their holders. It checks all names first,
// so that it releases no worker if one of the names is wrong or names a worker without a
// holder.
func (f *releaseFlags) release(cmd *cobra.Command, in *lease.Inspection, names []string) error {
	holders := make([]lease.Holder, len(names))
	for i, name := range names {
		h, err := findWorker(in, name)
		if err != nil {
			return err
		}
		if h.Owner == "" {
			return fmt.Errorf("datacenter %d worker %d is held by nobody", h.Datacenter, h.Worker)
		}
		holders[i] = h
	}
	evicted, err := f.evict(cmd, in, holders)
	// After an error the output lists the workers that were released before it.
	if f.json && (err == nil || len(evicted) > 0) {
		err = errors.Join(err, terminal.SayJSON(cmd.OutOrStdout(), map[string]any{"released": evicted}))
	}
	return err
}

// evict asks for each worker whether to take it from its holder, and does so. It returns the
// workers that it has released, also after an error.
func (f *releaseFlags) evict(cmd *cobra.Command, in *lease.Inspection, holders []lease.Holder) (evicted []releasedWorker, err error) {
	ctx := cmd.Context()
	for i, h := range holders {
		progress := fmt.Sprintf("%d of %s released", i, terminal.Counted(len(holders), "worker was", "workers were"))
		if err := f.confirm.Ask(cmd, "Take "+h.String()+"?"); err != nil {
			return evicted, terminal.Interrupted(ctx, err, progress)
		}
		if err := in.Evict(ctx, h); err != nil { // the write may have reached the store nevertheless
			return evicted, terminal.Interrupted(ctx, err, progress+fmt.Sprintf(`, and worker %d/%d may be: see "gormflake workers"`, h.Datacenter, h.Worker))
		}
		evicted = append(evicted, f.report(cmd, h))
	}
	return evicted, nil
}

// A releasedWorker is a worker that was released, in the output of --json.
type releasedWorker struct {
	Datacenter int64  `json:"datacenter"`
	Worker     int64  `json:"worker"`
	Owner      string `json:"owner"`
	FreeFrom   string `json:"free_from"`
}

// report prints that a worker was released, unless the output is JSON, and returns the worker
// for the JSON.
func (f *releaseFlags) report(cmd *cobra.Command, h lease.Holder) releasedWorker {
	if !f.json {
		terminal.Say(cmd.OutOrStdout(), "datacenter %d worker %d is no longer held by %s; %s", h.Datacenter, h.Worker, h.Owner, freeWhen(h, f.now()))
	}
	return releasedWorker{h.Datacenter, h.Worker, h.Owner, terminal.Stamp(h.Until)}
}

// freeWhen returns, in words, when a released worker is free, which is when the clock reaches
// its bound. h is its record before the release.
func freeWhen(h lease.Holder, now time.Time) string {
	if h.State(now) == lease.Lapsed { // the bound has passed
		return "it is free"
	}
	return fmt.Sprintf("it is free in %s, at %s", terminal.Span(h.Until.Sub(now)), terminal.Stamp(h.Until))
}
