package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/lease"
)

const resetHelp = `Lower the bound of a worker that a wrong clock has raised by days or years.

WORKER is the datacenter and the worker, as 0/7; or the worker alone where the
layout has no datacenters. Its bound must be more than a day ahead of the clock:
otherwise wait, the worker is then free without a reset.

First stop every process that has held the worker. One that is paused, or cannot
reach the database, does not notice that the worker is taken from it, and
continues to issue under it: then IDs repeat.

The keys are searched first, as in step 4: nothing is done if that finds any.
What is done then, each step only if the one before has succeeded:
  1. the worker is taken from its holder
  2. the longest window stored with the leases passes, at least 1m: by then every
     holder that reaches the database has stopped under the worker
  3. the transactions that are open then end
  4. the keys of the worker at or after the new bound are searched: there must be
     none, since they would be issued once more
  5. the bound is lowered to a window ahead of the clock, unless somebody has
     written the record in the meantime

Searched are the primary keys of all tables that begin with a BIGINT, or the keys of
each TABLE alone, and each --column. Tables that are not searched are named. IDs
in other databases, in queues, files and clients are not seen at all. Keys from a
parked counter count as no worker's.

On PostgreSQL the account needs pg_read_all_stats to see the transactions of
others, on MySQL and MariaDB the right PROCESS. On SQLite, the write lock is
taken once.`

// newReset returns the command workers reset. now is the clock, and wait waits for a duration
// or until the context ends.
func newReset(now func() time.Time, wait func(context.Context, time.Duration) error) *cobra.Command {
	f := &resetFlags{workersFlags: workersFlags{now: now}, wait: wait}
	cmd := &cobra.Command{
		Use:   "reset WORKER [TABLE...]",
		Short: "Lower a bound that a wrong clock has raised by days or years",
		Long:  resetHelp,
		Example: `  gormflake workers reset 0/7 --dsn sqlite://app.db --dry-run
  gormflake workers reset 0/7 --dsn sqlite://app.db --yes --column orders.parent_id`,
		Args: flags.AtLeastOneArgument("WORKER"),
		RunE: f.run,

		ValidArgsFunction: f.completeReset,
	}
	f.database.Register(cmd)
	f.store.Register(cmd)
	f.confirm.Register(cmd)
	flagSet := cmd.Flags()
	flagSet.StringArrayVar(&f.columns, "column", nil, "another column of IDs to search, as orders.parent_id; may be repeated")
	flagSet.DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long to wait for transactions that are open")
	flagSet.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	flagSet.BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("json", "dry-run")
	return cmd
}

// run lowers the bound of the worker in args[0]. The other arguments are the tables whose
// keys to search. With --dry-run it only shows what it would do. It opens the database
// twice, because it writes the record of the worker over one connection, and reads keys
// over another connection that is set to read only.
func (f *resetFlags) run(cmd *cobra.Command, args []string) error {
	if f.timeout <= 0 {
		return terminal.Usagef("--timeout %v: want more than zero", f.timeout)
	}
	columns, err := parseColumns(f.columns)
	if err != nil {
		return err
	}
	if leasestore.Is(f.database.URL()) {
		return terminal.Usagef("--dsn: want a database: reset searches its keys, which other stores do not have")
	}
	return f.withStore(cmd.Context(), flags.ReadWrite, func(store lease.Store) error {
		return readonly.With(cmd.Context(), &f.database, func(p *readonly.Database) error {
			r := &reset{Database: p, flags: f, store: store, name: args[0], out: cmd.ErrOrStderr()}
			if f.dryRun {
				r.out = cmd.OutOrStdout()
			}
			if err := r.prepare(args[1:], columns); err != nil || f.dryRun {
				return err
			}
			return r.resetWorker(cmd)
		})
	})
}

// prepare makes all checks that only read. It returns an error if the bound is not far ahead
// of the clock, or if a key of the worker at or after the new bound exists. In between it
// prints what reset would do. tables are the tables whose keys to search, or empty for all
// tables. columns are the columns of --column, which are searched too.
func (r *reset) prepare(tables []string, columns []readonly.Table) error {
	if err := r.readRecord(); err != nil {
		return err
	}
	now, err := r.now()
	if err != nil {
		return err
	}
	ahead := r.holder.Until.Sub(now)
	if ahead <= minReset {
		return fmt.Errorf("datacenter %d worker %d: its bound, %s, is %s: waiting for it is enough; reset is for bounds more than a day ahead of the clock",
			r.holder.Datacenter, r.holder.Worker, terminal.Stamp(r.holder.Until), terminal.Age(r.holder.Until, now))
	}
	// A holder that reaches the database notices within its window that it has lost the
	// worker. The record shows only the window of the last holder, so take the longest window
	// of all records for earlier holders.
	r.window = minWindow
	for _, h := range r.in.Holders {
		r.window = max(r.window, h.Window)
	}
	unsearched, err := r.findColumns(tables, columns)
	if err != nil {
		return err
	}
	r.printPlan(ahead, unsearched)
	return r.search(now.Add(r.window))
}

// printPlan prints what reset would do, and what the user has to do first. ahead is how far
// the bound is ahead of the clock. unsearched are the tables in which keys are not searched.
func (r *reset) printPlan(ahead time.Duration, unsearched []string) {
	terminal.Say(r.out, "%v: its bound is %s ahead of the clock", r.holder, terminal.Span(ahead))
	terminal.Say(r.out, "it would be lowered to %s ahead of the clock, after a wait of %s", terminal.Span(r.window), terminal.Span(r.window))
	var searched []string
	for _, c := range r.columns {
		searched = append(searched, c.Column())
	}
	terminal.Say(r.out, "searched for keys of the worker: %s", joinNames(searched))
	if len(unsearched) > 0 {
		terminal.Say(r.out, "not searched, for want of a BIGINT primary key: %s", joinNames(unsearched))
	}
	terminal.Say(r.out, "stop every process that has held the worker: one that is paused, or cannot reach the database, continues to issue under it, and IDs repeat")
	terminal.Say(r.out, "IDs in other databases, queues, files and clients are not seen")
}

// resetWorker asks for confirmation, takes the worker from its holder, lowers the bound,
// and reports the new bound.
func (r *reset) resetWorker(cmd *cobra.Command) error {
	if err := r.flags.confirm.Ask(cmd, fmt.Sprintf("Lower the bound of datacenter %d worker %d?", r.holder.Datacenter, r.holder.Worker)); err != nil {
		return err
	}
	if r.holder.Owner != "" {
		if err := r.in.Evict(r.Ctx, r.holder); err != nil {
			return terminal.Interrupted(r.Ctx, err, `the bound was not lowered, and the worker may have been taken from its holder: see "gormflake workers"`)
		}
		terminal.Say(r.out, "taken from %s", r.holder.Owner)
	}
	bound, err := r.lower()
	if err != nil {
		// Interrupted returns its second argument, or after Ctrl-C an error with the third. Both
		// contain the state.
		const state = "the bound is not lowered, and nobody holds the worker: run the same command again"
		return terminal.Interrupted(r.Ctx, fmt.Errorf("%w; %s", err, state), state)
	}
	if r.flags.json {
		return terminal.SayJSON(cmd.OutOrStdout(), map[string]any{
			"datacenter": r.holder.Datacenter, "worker": r.holder.Worker, "from": terminal.Stamp(r.holder.Until), "to": terminal.Stamp(bound),
		})
	}
	terminal.Say(cmd.OutOrStdout(), "datacenter %d worker %d: the bound is lowered from %s to %s; it is free in %s",
		r.holder.Datacenter, r.holder.Worker, terminal.Stamp(r.holder.Until), terminal.Stamp(bound), terminal.Span(r.window))
	return nil
}

// lower lowers the bound of a released worker to a window ahead of the clock, and returns
// the new bound. First it waits until no process that reaches the database issues under the
// worker, and until no open transaction can contain a key of the worker. Then it searches
// for keys at or after the new bound.
func (r *reset) lower() (bound time.Time, err error) {
	terminal.Say(r.out, "waiting %s for holders to notice", terminal.Span(r.window))
	if err := r.flags.wait(r.Ctx, r.window); err != nil {
		return bound, err
	}
	oldBound := r.holder.Until
	// Read the record again, because another process may have leased the worker or raised
	// its bound meanwhile.
	if err := r.readRecord(); err != nil {
		return bound, err
	}
	if r.holder.Owner != "" || !r.holder.Until.Equal(oldBound) {
		return bound, fmt.Errorf("the record has changed in the meantime: %v", r.holder)
	}
	if err := r.awaitTransactions(); err != nil {
		return bound, err
	}
	now, err := r.now()
	if err != nil {
		return bound, err
	}
	// Search again, because a transaction that was open at the first search may have
	// inserted a key.
	bound = now.Add(r.window)
	if err := r.search(bound); err != nil {
		return bound, err
	}
	return bound, r.in.Lower(r.Ctx, r.holder, bound)
}

// completeReset completes the first argument with a worker, and further arguments with
// tables.
func (f *resetFlags) completeReset(cmd *cobra.Command, given []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return f.complete(cmd, given, typed)
	}
	return readonly.CompleteTables(&f.database)(cmd, given[1:], typed)
}
