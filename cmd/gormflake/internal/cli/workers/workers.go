// Package workers has the commands about the records of leases.
package workers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease"
)

const workersHelp = `Show who holds which worker, by the records in the database, Redis, etcd or
ZooKeeper.

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

type workersFlags struct {
	database flags.Database
	store    flags.Store
	json     bool
	now      func() time.Time
}

// New returns the command workers with those below it. Wait waits for a duration,
// or until the context ends; nil is a timer.
func New(now func() time.Time, wait func(context.Context, time.Duration) error) *cobra.Command {
	if wait == nil {
		wait = pause
	}
	f := &workersFlags{now: now}
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "Show who holds which worker",
		Long:  workersHelp,
		Example: `  gormflake workers --dsn sqlite://app.db
  gormflake workers --dsn sqlite://app.db --json`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.AddCommand(newRelease(now), newRaise(now), newReset(now, wait), newDDL())
	return cmd
}

func (f *workersFlags) run(cmd *cobra.Command, _ []string) error {
	write := writeWorkers
	if f.json {
		write = writeWorkersJSON
	}
	return f.withStore(cmd.Context(), flags.ReadOnly, func(s *workerStore) error {
		in, err := s.inspect(cmd.Context())
		if err != nil {
			return err
		}
		return write(cmd.OutOrStdout(), in, f.now())
	})
}

func writeWorkers(out io.Writer, in *lease.Inspection, now time.Time) error {
	if len(in.Holders) == 0 {
		terminal.Say(out, "no worker was ever taken in this namespace")
		return nil
	}
	terminal.Say(out, "%v\n", in.Layout)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	terminal.Say(table, "DATACENTER\tWORKER\tSTATE\tBOUND\tFROM NOW\tOWNER")
	for _, h := range in.Holders {
		terminal.Say(table, "%d\t%d\t%v\t%s\t%s\t%s", h.Datacenter, h.Worker, h.State(now),
			terminal.Stamp(h.Until), terminal.Age(h.Until, now), strings.Map(terminal.Printable, cmp.Or(h.Owner, "-")))
	}
	return table.Flush()
}

// A workersJSON is what --json prints.
type workersJSON struct {
	Layout  *layoutJSON  `json:"layout"` // null where no worker was ever taken
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
	LeadMS     int64  `json:"lead_ms"` // below zero once the bound has passed
	Owner      string `json:"owner"`
}

func writeWorkersJSON(out io.Writer, in *lease.Inspection, now time.Time) error {
	doc := workersJSON{Workers: []workerJSON{}}
	if l := in.Layout; l.Tick > 0 {
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

// findWorker finds the holder of a worker that is named as 1/7, or as 7 where
// the layout has no datacenters.
func findWorker(in *lease.Inspection, name string) (lease.Holder, error) {
	form := "DATACENTER/WORKER, such as 0/7"
	datacenter, worker, both := strings.Cut(name, "/")
	if in.Layout.DatacenterBits == 0 && !both {
		datacenter, worker, both = "0", name, true
		form = "a number, such as 7"
	}
	d, datacenterErr := strconv.ParseUint(datacenter, 10, 32)
	w, workerErr := strconv.ParseUint(worker, 10, 32)
	if !both || datacenterErr != nil || workerErr != nil {
		return lease.Holder{}, terminal.Usagef("worker %s: want %s", terminal.Quote(name), form)
	}
	for _, h := range in.Holders {
		if h.Datacenter == int64(d) && h.Worker == int64(w) {
			return h, nil
		}
	}
	return lease.Holder{}, fmt.Errorf("datacenter %d worker %d was never taken", d, w)
}
