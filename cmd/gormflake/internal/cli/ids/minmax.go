package ids

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// takesTimes marks the commands whose arguments are times, which may begin with a minus
// sign.
const takesTimes = "times"

func newMin(now func() time.Time) *cobra.Command {
	return newBoundCmd(now, snowflake.Layout.Min, &cobra.Command{
		Use:   "min TIME",
		Short: "Print the smallest ID of a time",
		Long: `Print the smallest ID that can have been issued at TIME or later, so that a range
of times is a range of IDs:

  WHERE id BETWEEN (gormflake min) AND (gormflake max)

With the min of the end in place of its max, the range is half-open:

  WHERE id >= (gormflake min FROM) AND id < (gormflake min TO)

` + flags.TimeForms,
		Example: `  gormflake min 2026-11-21
  gormflake min "2026-11-21 17:00:00" --layout js-safe
  gormflake min -1h`,
	})
}

func newMax(now func() time.Time) *cobra.Command {
	return newBoundCmd(now, snowflake.Layout.Max, &cobra.Command{
		Use:   "max TIME",
		Short: "Print the largest ID of a time",
		Long: `Print the largest ID that can have been issued at TIME or earlier: the last one
of its tick. The largest of a day is the one before the smallest of the next.

` + flags.TimeForms,
		Example: `  gormflake max 2026-11-21T23:59:59.999Z
  gormflake max 1795280400
  gormflake max now`,
	})
}

// newBoundCmd completes the command min or max, which prints the ID that bound returns for
// a time.
func newBoundCmd(now func() time.Time, bound func(snowflake.Layout, time.Time) types.ID, cmd *cobra.Command) *cobra.Command {
	var layoutFlags flags.Layout
	layoutFlags.Register(cmd)
	cmd.Args = flags.OneArgument("TIME")
	cmd.Annotations = map[string]string{takesTimes: ""}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		layout, layoutErr := layoutFlags.Layout()
		at, err := flags.ParseTime(args[0], now())
		if err := cmp.Or(layoutErr, err); err != nil {
			return err
		}
		if at.Before(layout.Epoch) || !at.Before(layout.Expires()) {
			return terminal.Usagef("time %s is outside the layout: want one from %s to before %s",
				terminal.Stamp(at), terminal.Stamp(layout.Epoch), terminal.Stamp(layout.Expires()))
		}
		terminal.Say(cmd.OutOrStdout(), "%v", bound(layout, at))
		return nil
	}
	return cmd
}

// WithTimesLast moves arguments such as -1h behind a "--", so that they are not parsed as
// flags. It does so only for the commands min and max. Their other arguments stay in front
// of the "--", so that flags may follow a time.
func WithTimesLast(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	if _, ok := cmd.Annotations[takesTimes]; !ok {
		return args
	}
	var others, times []string
	for i, arg := range args {
		switch {
		case arg == "--":
			return slices.Concat(others, []string{arg}, times, args[i+1:])
		case isPast(arg) && (i == 0 || !isValue(cmd, args[i-1])):
			times = append(times, arg)
		default:
			others = append(others, arg)
		}
	}
	if isValue(cmd, others[len(others)-1]) { // others has at least the name of the command
		return others // without "--", which would become the value; the command reports that it is missing
	}
	return slices.Concat(others, []string{"--"}, times)
}

// isPast reports whether arg is a time such as -1h, in contrast to a flag.
func isPast(arg string) bool { return len(arg) > 1 && arg[0] == '-' && isDigits(arg[1:2]) }

// isValue reports whether the argument after before is the value of a flag.
func isValue(cmd *cobra.Command, before string) bool {
	name, long := strings.CutPrefix(before, "--")
	flag := cmd.Flags().Lookup(name)
	return long && flag != nil && flag.NoOptDefVal == ""
}
