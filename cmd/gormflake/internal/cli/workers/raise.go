package workers

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
)

const raiseHelp = `Raise the bounds of all workers to a time, after the database was restored.

After a point-in-time restore the bounds are of an earlier time, while IDs
from above them remain in queues, in clients and in other databases. Stop all
processes, restore, raise the bounds to a time at or after the moment at which
the last process stopped, and start again: no ID is issued below that time.

Workers without a record get one, for the restored database may have forgotten
it. Bounds that are higher stay.

Raising repeats no ID, whatever runs. A process that holds a worker whose bound is
raised stops under it and takes another one, of which none is free before the
clock has reached the time. A time more than a day ahead of the clock is refused
without --force: nobody could issue until then.

` + flags.TimeForms

// maxRaise is how far ahead of the clock bounds can be raised without --force. Until the
// clock reaches a bound that was raised, no process can issue IDs under its worker.
const maxRaise = 24 * time.Hour

// raiseFlags holds the flags of workers raise.
type raiseFlags struct {
	workersFlags
	confirm       flags.Confirm
	to            string
	force, dryRun bool
}

// newRaise returns the command workers raise. now is the clock with which --to is compared.
func newRaise(now func() time.Time) *cobra.Command {
	f := &raiseFlags{workersFlags: workersFlags{now: now}}
	cmd := &cobra.Command{
		Use:   "raise --to TIME",
		Short: "Raise the bounds of all workers, after a restore",
		Long:  raiseHelp,
		Example: `  gormflake workers raise --to now --dsn sqlite://app.db --dry-run
  gormflake workers raise --to 2026-11-21T17:00:00Z --dsn sqlite://app.db --yes`,
		Args: flags.NoArguments,
		RunE: f.run,
	}
	f.register(cmd)
	f.confirm.Register(cmd)
	flagSet := cmd.Flags()
	flagSet.StringVar(&f.to, "to", "", "TIME at or after the moment at which the last process stopped")
	flagSet.BoolVar(&f.force, "force", false, "accept a time more than a day ahead of the clock")
	flagSet.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	flagSet.BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("json", "dry-run")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

// run raises the bounds. It checks the time of --to before it opens the store.
func (f *raiseFlags) run(cmd *cobra.Command, _ []string) error {
	to, err := f.parseTo()
	if err != nil {
		return err
	}
	return f.withRecords(cmd.Context(), flags.ReadWrite, func(in *lease.Inspection) error { return f.raise(cmd, in, to) })
}

// parseTo returns the time of --to. Without --force, it returns an error if the time is too
// far ahead.
func (f *raiseFlags) parseTo() (time.Time, error) {
	now := f.now()
	to, err := flags.ParseTime(f.to, now)
	if err != nil {
		return to, fmt.Errorf("--to: %w", err)
	}
	if ahead := to.Sub(now); ahead > maxRaise && !f.force {
		return to, terminal.Usagef("--to: %s is %s ahead of the clock, and nobody could issue until then: want at most a day, or --force",
			terminal.Stamp(to), terminal.Span(ahead))
	}
	return to, nil
}

// raise shows how many bounds are below the time of --to, asks for confirmation, and raises
// these bounds to that time. With --dry-run it only shows their number.
func (f *raiseFlags) raise(cmd *cobra.Command, in *lease.Inspection, to time.Time) error {
	out := cmd.OutOrStdout()
	if len(in.Holders) == 0 {
		return errors.New("no worker was ever leased in this namespace: there is no bound to raise, and the first processes begin at their clocks: start them after the time of --to")
	}
	if f.dryRun {
		f.printPlan(out, in, to)
		return nil
	}
	f.printPlan(cmd.ErrOrStderr(), in, to)
	if err := f.confirm.Ask(cmd, "Raise the bounds?"); err != nil {
		return err
	}
	n, err := in.Raise(cmd.Context(), to) // n bounds are raised, also after an error
	raised := terminal.Counted(n, "bound has been raised", "bounds have been raised")
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return terminal.Interrupted(cmd.Context(), err, raised+": run the same command again to raise the others")
	case err != nil && n > 0:
		return fmt.Errorf("%w; %s: run the same command again to raise the others", err, raised)
	case err != nil:
		return err
	case f.json:
		return terminal.SayJSON(out, map[string]any{"raised": n, "to": terminal.Stamp(to)})
	}
	terminal.Say(out, "%s; %s", raised, freeFrom(to, f.now()))
	return nil
}

// printPlan prints how many bounds would be raised, and how many of their workers are held.
// A worker without a record has no bound yet. It counts too, because Raise writes a record
// with the new bound for it.
func (f *raiseFlags) printPlan(out io.Writer, in *lease.Inspection, to time.Time) {
	total := 1 << (in.Layout.DatacenterBits + in.Layout.WorkerBits) // the workers of the layout
	below, held := 0, 0                                             // of the workers with a record
	for _, h := range in.Holders {
		if !h.Until.Before(to) {
			continue
		}
		below++
		if h.State(f.now()) == lease.Held {
			held++
		}
	}
	at := terminal.Stamp(to)
	missing := total - len(in.Holders) // workers without a record
	terminal.Say(out, "%d of %d bounds are below %s and would be raised to it, %d of them of workers without a record", below+missing, total, at, missing)
	// If Raise finds all bounds high enough, it still writes one of them. Once the store has
	// acknowledged this later write, it cannot forget the bounds that it had before.
	if below+missing == 0 {
		terminal.Say(out, "one bound is raised by a tick all the same: with that write the database acknowledges the others")
	}
	if held > 0 {
		terminal.Say(out, "%s: the processes that hold them stop under them, and take other workers", terminal.Counted(held, "of these workers is held now", "of these workers are held now"))
	}
}

// freeFrom returns, in words, when another process can lease a worker whose bound was raised.
// to is the new bound.
func freeFrom(to, now time.Time) string {
	if !to.After(now) {
		return "nobody has to wait: that time has passed"
	}
	return fmt.Sprintf("no worker whose bound was raised is free before %s, in %s", terminal.Stamp(to), terminal.Span(to.Sub(now)))
}
