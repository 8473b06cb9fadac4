// Package workers has the command workers, which shows the records of leases, and its
// subcommands, most of which change them. A lease is the right of a process, its holder, to
// issue IDs under a worker. Its record has the bound, a time from which on the holder issues
// no ID unless it raises the bound first.
//
// raise.go is an example of a subcommand without arguments, and release.go of a subcommand
// whose arguments are workers. workers.go is an example of a command that only reads.
package workers

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
)

const workersHelp = `Show who holds which worker, by the records in the database, Redis, etcd or
ZooKeeper: of those named, or of all but the free ones, which --all shows too.
WORKER is the datacenter and the worker, as 0/7; or the worker alone, which means
that one of every datacenter.

Nobody issues an ID at or after the BOUND of its worker. FROM NOW is how far the
bound is ahead of this machine's clock. STATE is one of
  held     the holder may issue up to the bound, and keeps raising it
  lapsed   the bound has passed and the worker was not released: its holder has
           died, is suspended or is cut off. The worker is free
  waiting  released; it is free once the clock has reached the bound
  free     released, and the bound has passed
Workers that were never leased are free too, and are not shown.

OWNER is the host, the process and a random token of one lease.

Nothing is written, and no table created.`

// New returns the command workers with its subcommands. now is the clock. wait waits for a
// duration or until the context ends; nil means a timer. Tests replace both.
func New(now func() time.Time, wait func(context.Context, time.Duration) error) *cobra.Command {
	if wait == nil {
		wait = pause
	}
	f := &workersFlags{now: now}
	cmd := &cobra.Command{
		Use:   "workers [WORKER...]",
		Short: "Show who holds which worker",
		Long:  workersHelp,
		Example: `  gormflake workers --dsn sqlite://app.db
  gormflake workers 0/7 --dsn sqlite://app.db
  gormflake workers --held --dsn sqlite://app.db --json`,
		Args: checkWorkerArgs,
		RunE: f.run,

		ValidArgsFunction: f.complete,
	}
	f.register(cmd)
	flagSet := cmd.Flags()
	flagSet.BoolVar(&f.json, "json", false, "print JSON, of the free ones too")
	flagSet.BoolVar(&f.held, "held", false, "show only those that are held")
	flagSet.BoolVar(&f.all, "all", false, "show the free ones too")
	cmd.MarkFlagsMutuallyExclusive("held", "all")
	cmd.AddCommand(newRelease(now), newRaise(now), newReset(now, wait), newDDL())
	return cmd
}

// run prints the selected workers as a table or as JSON.
func (f *workersFlags) run(cmd *cobra.Command, args []string) error {
	return f.withRecords(cmd.Context(), flags.ReadOnly, func(in *lease.Inspection) (err error) {
		hasRecords := len(in.Holders) > 0 // before selectHolders removes workers
		if in.Holders, err = f.selectHolders(in, args); err != nil {
			return err
		}
		if f.json {
			return writeWorkersJSON(cmd.OutOrStdout(), in, f.now())
		}
		if !hasRecords {
			terminal.Say(cmd.OutOrStdout(), "no worker was ever taken in this namespace")
			return nil
		}
		return writeWorkers(cmd.OutOrStdout(), in, f.now(), f.all || len(args) > 0)
	})
}

// selectHolders returns the workers of in.Holders that the arguments and --held select, in
// the order of the records. Without arguments it selects all workers. It overwrites
// in.Holders.
func (f *workersFlags) selectHolders(in *lease.Inspection, names []string) ([]lease.Holder, error) {
	var named []lease.Holder
	for _, name := range names {
		found, err := findWorkers(in, name)
		if err != nil {
			return nil, err
		}
		named = append(named, found...)
	}
	return slices.DeleteFunc(in.Holders, func(h lease.Holder) bool {
		return f.held && h.State(f.now()) != lease.Held || len(names) > 0 && !slices.Contains(named, h)
	}), nil
}

// writeWorkers prints the workers as a table. If showFree is false, it prints the number of
// free workers in place of their rows.
func writeWorkers(out io.Writer, in *lease.Inspection, now time.Time, showFree bool) error {
	terminal.Say(out, "%v\n", in.Layout)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	terminal.Say(table, "DATACENTER\tWORKER\tSTATE\tBOUND\tFROM NOW\tOWNER")
	hidden := 0
	for _, h := range in.Holders {
		state := h.State(now)
		if state == lease.Free && !showFree {
			hidden++
			continue
		}
		terminal.Say(table, "%d\t%d\t%v\t%s\t%s\t%s", h.Datacenter, h.Worker, state,
			terminal.Stamp(h.Until), terminal.Age(h.Until, now), strings.Map(terminal.Printable, cmp.Or(h.Owner, "-")))
	}
	if err := table.Flush(); err != nil || hidden == 0 {
		return err
	}
	terminal.Say(out, "\n%s: see --all", terminal.Counted(hidden, "free one", "free ones"))
	return nil
}

// A workersJSON is the output of --json.
type workersJSON struct {
	Layout  *layoutJSON  `json:"layout"` // null if no worker was ever leased
	Workers []workerJSON `json:"workers"`
}

type layoutJSON struct {
	Epoch          time.Time `json:"epoch"`
	Tick           string    `json:"tick"`
	DatacenterBits uint8     `json:"datacenter_bits"`
	WorkerBits     uint8     `json:"worker_bits"`
	SequenceBits   uint8     `json:"sequence_bits"`
	TotalBits      uint8     `json:"total_bits"`
}

type workerJSON struct {
	Datacenter int64  `json:"datacenter"`
	Worker     int64  `json:"worker"`
	State      string `json:"state"`
	Bound      string `json:"bound"`
	LeadMS     int64  `json:"lead_ms"` // negative after the bound has passed
	Owner      string `json:"owner"`
}

// writeWorkersJSON prints the workers and their layout as JSON.
func writeWorkersJSON(out io.Writer, in *lease.Inspection, now time.Time) error {
	doc := workersJSON{Workers: []workerJSON{}}
	if l := in.Layout; l.Tick > 0 { // the layout is zero if no worker was ever leased
		doc.Layout = &layoutJSON{l.Epoch.UTC(), l.Tick.String(), l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.TotalBits}
	}
	for _, h := range in.Holders {
		doc.Workers = append(doc.Workers, workerJSON{
			h.Datacenter, h.Worker, h.State(now).String(),
			terminal.Stamp(h.Until), h.Until.Sub(now).Milliseconds(), h.Owner,
		})
	}
	return terminal.SayJSON(out, doc)
}
