package flags

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/snowflake"
)

// layouts are those that have a name.
var layouts = map[string]snowflake.Layout{
	"twitter": snowflake.TwitterLayout(),
	"js-safe": snowflake.JSSafeLayout(),
	"discord": snowflake.DiscordLayout(),
}

// Layout are --layout and what changes single parts of it.
type Layout struct {
	cmd                                     *cobra.Command
	name, epoch                             string
	tick                                    time.Duration
	datacenter, worker, sequence, totalBits uint8
}

// Register adds the flags to a command.
func (f *Layout) Register(cmd *cobra.Command) {
	f.cmd = cmd
	names := slices.Sorted(maps.Keys(layouts))
	set := cmd.Flags()
	ChoiceVar(cmd, &f.name, "layout", "twitter", "layout of the IDs: "+strings.Join(names, ", "), names)
	set.StringVar(&f.epoch, "epoch", "", "time of tick zero, such as 2020-01-01 or 1577836800000 (default: the layout's)")
	set.DurationVar(&f.tick, "tick", 0, "length of a tick, such as 10ms (default: the layout's)")
	set.Uint8Var(&f.datacenter, "datacenter-bits", 0, "bits of the datacenter (default: the layout's)")
	set.Uint8Var(&f.worker, "worker-bits", 0, "bits of the worker (default: the layout's)")
	set.Uint8Var(&f.sequence, "sequence-bits", 0, "bits of the sequence (default: the layout's)")
	set.Uint8Var(&f.totalBits, "total-bits", 0, "bits of an ID (default: the layout's)")
}

// Given reports whether any of the flags is set.
func (f *Layout) Given() bool {
	return slices.ContainsFunc([]string{"layout", "epoch", "tick", "datacenter-bits", "worker-bits", "sequence-bits", "total-bits"}, f.cmd.Flags().Changed)
}

// Layout is the layout that the flags describe.
func (f *Layout) Layout() (snowflake.Layout, error) {
	layout, known := layouts[f.name]
	if !known {
		return layout, terminal.Usagef("--layout %q: want one of %s", f.name, strings.Join(slices.Sorted(maps.Keys(layouts)), ", "))
	}
	if f.epoch != "" {
		epoch, ok := parseInstant(f.epoch)
		if !ok {
			return layout, terminal.Usagef("--epoch %q: want a time such as 2020-01-01T00:00:00Z, 2020-01-01, 1577836800000 or 0x16f5e66e800", f.epoch)
		}
		layout.Epoch = epoch.UTC()
	}
	f.override("tick", func() { layout.Tick = f.tick })
	f.override("datacenter-bits", func() { layout.DatacenterBits = f.datacenter })
	f.override("worker-bits", func() { layout.WorkerBits = f.worker })
	f.override("sequence-bits", func() { layout.SequenceBits = f.sequence })
	f.override("total-bits", func() { layout.TotalBits = f.totalBits })
	return layout, terminal.Usage(layout.Validate())
}

func (f *Layout) override(flag string, set func()) {
	if f.cmd.Flags().Changed(flag) {
		set()
	}
}
