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

// takesTimes is the annotation of the commands whose arguments are times, which may begin
// with a minus sign, such as -1h.
const takesTimes = "times"

// newMin returns the command min, which prints the smallest ID of a time. now is the clock for
// relative times.
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

// newMax returns the command max, which prints the largest ID of a time. now is the clock for
// relative times.
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

// newBoundCmd completes cmd, which is the command min or max. The command prints the ID that
// bound returns for the layout of the flags and the time of the argument.
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

// WithTimesLast moves arguments such as -1h behind a "--", so that pflag does not parse them
// as flags. For example, "min -1h --layout js-safe" becomes "min --layout js-safe -- -1h".
// Flags keep their places in front of the "--", because pflag parses no flag behind it. For
// other commands than min and max, WithTimesLast returns args.
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
		case arg == "--": // the user has written it, so the arguments behind it are no flags
			return slices.Concat(others, []string{arg}, times, args[i+1:])
		case isPast(arg) && (i == 0 || !isValue(cmd, args[i-1])):
			times = append(times, arg)
		default:
			others = append(others, arg)
		}
	}
	// If the last argument is a flag without its value, "--" would become the value. Without
	// "--", pflag reports that the value is missing. others has at least the command's name.
	if isValue(cmd, others[len(others)-1]) {
		return others
	}
	return slices.Concat(others, []string{"--"}, times)
}

// isPast reports whether arg is a time such as -1h, in contrast to a flag. No flag of min and
// max is a digit.
func isPast(arg string) bool { return len(arg) > 1 && arg[0] == '-' && isDigits(arg[1:2]) }

// isValue reports whether the argument that follows before is the value of a flag, as it is
// after --layout, but not after --help or --layout=js-safe. Only a flag that needs no value,
// such as a bool, has a NoOptDefVal.
func isValue(cmd *cobra.Command, before string) bool {
	name, isLong := strings.CutPrefix(before, "--")
	flag := cmd.Flags().Lookup(name)
	return isLong && flag != nil && flag.NoOptDefVal == ""
}
