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

// Sonyflake is the name of the layout of Sony's library. In its IDs the sequence stands
// before the worker; in all other layouts, the worker stands before the sequence.
const Sonyflake = "sonyflake"

// Layouts returns the layouts of --layout by name. A layout divides the bits of an ID into
// time, datacenter, worker and sequence. The layouts of other libraries are their defaults.
// The commands can read the IDs of all layouts. They can issue IDs under all but
// [Sonyflake], because [snowflake.Layout] puts the worker before the sequence.
func Layouts() map[string]snowflake.Layout {
	return map[string]snowflake.Layout{
		"twitter":   snowflake.TwitterLayout(),
		"js-safe":   snowflake.JSSafeLayout(),
		"discord":   snowflake.DiscordLayout(),
		"instagram": foreignLayout(1314220021721, 13, 10), // as its engineers published it; the 13 bits of the shard are the worker here
		"leaf":      foreignLayout(1288834974657, 10, 12), // of Meituan
		"tsid":      foreignLayout(1577836800000, 10, 12), // of tsid-creator and hypersistence-tsid; the 10 bits of the node are the worker here
		"yitter":    foreignLayout(1582136402000, 6, 6),   // of yitter's idgenerator
		Sonyflake: {
			Epoch: time.Date(2014, time.September, 1, 0, 0, 0, 0, time.UTC), Tick: 10 * time.Millisecond,
			WorkerBits: 8, SequenceBits: 16, TotalBits: 63,
		},
	}
}

// foreignLayout returns the layout of another library, whose IDs count milliseconds since
// epochMS, which is a Unix time in milliseconds.
func foreignLayout(epochMS int64, workerBits, sequenceBits uint8) snowflake.Layout {
	return snowflake.Layout{Epoch: time.UnixMilli(epochMS).UTC(), Tick: time.Millisecond, WorkerBits: workerBits, SequenceBits: sequenceBits, TotalBits: 63}
}

// Layout holds --layout and the flags that change single parts of the layout.
type Layout struct {
	Reads bool // whether the command only reads IDs, so that it accepts Sonyflake; set it before Register

	cmd                                     *cobra.Command
	name, epoch                             string
	tick                                    time.Duration
	datacenter, worker, sequence, totalBits uint8 // numbers of bits
}

// Register adds the flags to a command.
func (f *Layout) Register(cmd *cobra.Command) {
	f.cmd = cmd
	names := f.names()
	flagSet := cmd.Flags()
	ChoiceVar(cmd, &f.name, "layout", "twitter", "layout of the IDs: "+strings.Join(names, ", "), names)
	flagSet.StringVar(&f.epoch, "epoch", "", "time of tick zero, such as 2020-01-01 or 1577836800000 (default: the layout's)")
	flagSet.DurationVar(&f.tick, "tick", 0, "length of a tick, such as 10ms (default: the layout's)")
	flagSet.Uint8Var(&f.datacenter, "datacenter-bits", 0, "bits of the datacenter (default: the layout's)")
	flagSet.Uint8Var(&f.worker, "worker-bits", 0, "bits of the worker (default: the layout's)")
	flagSet.Uint8Var(&f.sequence, "sequence-bits", 0, "bits of the sequence (default: the layout's)")
	flagSet.Uint8Var(&f.totalBits, "total-bits", 0, "bits of an ID (default: the layout's)")
}

// names returns the values that --layout accepts, in alphabetical order.
func (f *Layout) names() []string {
	names := slices.Sorted(maps.Keys(Layouts()))
	return slices.DeleteFunc(names, func(name string) bool { return name == Sonyflake && !f.Reads })
}

// Swapped reports whether the sequence stands before the worker in an ID. The result of
// Layout then calls the sequence Worker and the worker Sequence, because [snowflake.Layout]
// always puts the worker first.
func (f *Layout) Swapped() bool { return f.name == Sonyflake }

// Given reports whether any of the flags is set.
func (f *Layout) Given() bool {
	return slices.ContainsFunc(layoutFlags, f.cmd.Flags().Changed)
}

// layoutFlags are the names of the flags of a layout.
var layoutFlags = []string{"layout", "epoch", "tick", "datacenter-bits", "worker-bits", "sequence-bits", "total-bits"}

// Args returns the flags that are set in the form of arguments, such as "--layout", "js-safe".
// They belong to a command that the output tells the user to run next.
func (f *Layout) Args() []string {
	var args []string
	for _, name := range layoutFlags {
		if flag := f.cmd.Flags().Lookup(name); flag.Changed {
			value := flag.Value.String()
			if strings.Contains(value, " ") { // as in an epoch of 2020-01-01 12:00:00
				value = "'" + value + "'"
			}
			args = append(args, "--"+name, value)
		}
	}
	return args
}

// Layout returns the layout that the flags describe. It returns an error if the value of a
// flag or the layout as a whole is invalid.
func (f *Layout) Layout() (snowflake.Layout, error) {
	layout := Layouts()[f.name]
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
	// The flags name the fields as the library does. So under Sonyflake, --worker-bits sets
	// the field that snowflake.Layout calls SequenceBits.
	workerBits, sequenceBits := &layout.WorkerBits, &layout.SequenceBits
	if f.Swapped() {
		workerBits, sequenceBits = sequenceBits, workerBits
	}
	f.override("worker-bits", func() { *workerBits = f.worker })
	f.override("sequence-bits", func() { *sequenceBits = f.sequence })
	f.override("total-bits", func() { layout.TotalBits = f.totalBits })
	return layout, terminal.Usage(layout.Validate())
}

// override calls set if the flag is given, even with the value 0, because --datacenter-bits 0
// must override the 5 bits of the layout twitter.
func (f *Layout) override(flag string, set func()) {
	if f.cmd.Flags().Changed(flag) {
		set()
	}
}
