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
	"twitter":   snowflake.TwitterLayout(),
	"js-safe":   snowflake.JSSafeLayout(),
	"discord":   snowflake.DiscordLayout(),
	"instagram": foreign(1314220021721, time.Millisecond, 13, 10),
	"leaf":      foreign(1288834974657, time.Millisecond, 10, 12), // of Meituan
	"tsid":      foreign(1577836800000, time.Millisecond, 10, 12),
	"yitter":    foreign(1582136402000, time.Millisecond, 6, 6),
	Sonyflake:   foreign(1409529600000, 10*time.Millisecond, 8, 16),
}

// Sonyflake is the layout that has the sequence where others have the worker.
const Sonyflake = "sonyflake"

// foreign is a layout of another library, by its defaults.
func foreign(epoch int64, tick time.Duration, worker, sequence uint8) snowflake.Layout {
	return snowflake.Layout{Epoch: time.UnixMilli(epoch).UTC(), Tick: tick, WorkerBits: worker, SequenceBits: sequence, TotalBits: 63}
}

// Layout are --layout and what changes single parts of it.
type Layout struct {
	Reads                                   bool // only reads IDs, those of Sonyflake too; set it before Register
	cmd                                     *cobra.Command
	name, epoch                             string
	tick                                    time.Duration
	datacenter, worker, sequence, totalBits uint8
}

// Register adds the flags to a command.
func (f *Layout) Register(cmd *cobra.Command) {
	f.cmd = cmd
	names := f.names()
	set := cmd.Flags()
	ChoiceVar(cmd, &f.name, "layout", "twitter", "layout of the IDs: "+strings.Join(names, ", "), names)
	set.StringVar(&f.epoch, "epoch", "", "time of tick zero, such as 2020-01-01 or 1577836800000 (default: the layout's)")
	set.DurationVar(&f.tick, "tick", 0, "length of a tick, such as 10ms (default: the layout's)")
	set.Uint8Var(&f.datacenter, "datacenter-bits", 0, "bits of the datacenter (default: the layout's)")
	set.Uint8Var(&f.worker, "worker-bits", 0, "bits of the worker (default: the layout's)")
	set.Uint8Var(&f.sequence, "sequence-bits", 0, "bits of the sequence (default: the layout's)")
	set.Uint8Var(&f.totalBits, "total-bits", 0, "bits of an ID (default: the layout's)")
}

func (f *Layout) names() []string {
	names := slices.Sorted(maps.Keys(layouts))
	return slices.DeleteFunc(names, func(name string) bool { return name == Sonyflake && !f.Reads })
}

// Swapped reports whether worker and sequence have each other's place.
func (f *Layout) Swapped() bool { return f.name == Sonyflake }

// Given reports whether any of the flags is set.
func (f *Layout) Given() bool {
	return slices.ContainsFunc([]string{"layout", "epoch", "tick", "datacenter-bits", "worker-bits", "sequence-bits", "total-bits"}, f.cmd.Flags().Changed)
}

// Layout is the layout that the flags describe.
func (f *Layout) Layout() (snowflake.Layout, error) {
	layout := layouts[f.name]
	if names := f.names(); !slices.Contains(names, f.name) {
		return layout, terminal.Usagef("--layout %q: want one of %s", f.name, strings.Join(names, ", "))
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
