// Package cli is the command line of gormflake. It has the root command, help and
// version. Each other command is a package below it, whose function New returns the
// command. The help of a command is a constant beside its function.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/doctor"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/ids"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/migrate"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serve"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/vet"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/workers"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/plain"
)

// Streams are the input, outputs and clock of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	// Now returns the time from which ages are computed. nil means [time.Now].
	Now func() time.Time

	// Wait waits for d, or until ctx ends. nil means a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Main runs the command that args name, and returns the exit code of the process. It
// prints an error as a single line to Err.
func Main(ctx context.Context, args []string, streams Streams) int {
	out := &buffer{bufio.NewWriter(streams.Out), streams.Out}
	streams.Out = out
	root := Command(streams)
	running := false // an error before the command runs is a mistake in the command line
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		running = errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()) == nil // cobra checks the flags only after this hook
	}
	// The commands min and max take times such as -1h, and vet takes -tags, which pflag
	// would parse as short flags.
	root.SetArgs(ids.WithTimesLast(root, vet.WithLongTags(args)))
	err := root.ExecuteContext(ctx)
	if !running {
		err = terminal.Usage(err)
	}
	// A command that has written output itself may already have returned the error of the
	// output.
	if outputErr := out.Flush(); outputErr != nil && (err == nil || errors.Is(err, outputErr)) {
		if errors.Is(outputErr, syscall.EPIPE) {
			return terminal.ExitPipe // the reader of the output has ended, for example head
		}
		err = fmt.Errorf("write to standard output: %w", cmp.Or(err, outputErr))
	}
	if err == nil {
		return terminal.ExitOK
	}
	// A command that may have changed something says so in its own interruption, which
	// Interrupted keeps.
	err = terminal.Interrupted(ctx, err, "nothing was changed")
	if text := terminal.OneLine(err); text != "" {
		terminal.Say(streams.Err, "gormflake: %s", plain.Words(text))
	}
	return terminal.ExitCode(err)
}

// Command returns the root command. Tests and the generator of manual pages use it too.
func Command(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "gormflake",
		Short:         "Read, create and manage Snowflake IDs",
		Long:          rootHelp,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          flags.ShowHelp,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.Args = flags.Group
	root.SetFlagErrorFunc(flagError)
	now := streams.Now
	if now == nil {
		now = time.Now
	}
	root.AddCommand(ids.New(now)...)
	root.AddCommand(serve.New(), doctor.New(now), migrate.New(), workers.New(now, streams.Wait), vet.New(), newVersion())
	completeHelp(root)
	makeStrict(root)
	return root
}

// flagError adds advice to an error about flags. A command that takes IDs reads a negative
// number as a short flag, so the error says that no ID is negative.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if _, takesIDs := cmd.Annotations[ids.TakesIDs]; takesIDs && errors.As(err, &unknown) {
		if group := unknown.GetSpecifiedShortnames(); group != "" && group[0] >= '0' && group[0] <= '9' {
			return fmt.Errorf("-%s is neither a flag nor an ID: no ID is negative; see %q", group, flags.HelpOf(cmd))
		}
	}
	return flags.WrongFlag(cmd, err)
}

// A buffer collects the output until the command flushes it or ends. After an error it
// does not write any more, and Flush returns that error.
type buffer struct {
	*bufio.Writer
	to io.Writer
}

// Stream returns the underlying stream, which may be a terminal.
func (b *buffer) Stream() io.Writer { return b.to }

// A strictValue is a flag value with readable errors. It rejects values that pflag accepts
// silently. These are an empty text, which is often an unset variable of a script, and a
// number with a leading zero, because pflag reads 010 as 8, which is another worker.
type strictValue struct {
	pflag.Value
	mayBeEmpty bool
}

// Set checks the text before the underlying value does, and explains the errors of that
// value.
func (s strictValue) Set(text string) error {
	switch s.Type() {
	case "string", "stringArray", "stringSlice":
		if text == "" && !s.mayBeEmpty {
			return errors.New("empty")
		}
	case "int", "int64", "uint8":
		if !isWhole(text) {
			return errors.New("want a whole number in decimal, without a leading zero")
		}
	}
	err := s.Value.Set(text)
	var number *strconv.NumError
	switch {
	case err != nil && s.Type() == "bool":
		return errors.New("want true or false")
	case err != nil && s.Type() == "duration":
		return errors.New("want a duration such as 500ms, 10s or 1h30m")
	case err != nil && s.Type() == "intSlice":
		return errors.New("want whole numbers, with commas between them")
	case errors.As(err, &number):
		return number.Err
	}
	return err
}

// isWhole reports whether text is a whole number in decimal without a leading zero. It
// accepts numbers out of range, which the flag itself rejects.
func isWhole(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return text == strconv.FormatInt(n, 10) || errors.Is(err, strconv.ErrRange)
}

// makeStrict makes the flags of cmd and of its subcommands strict. It also makes each
// command read its environment variables before it checks its arguments.
func makeStrict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if variable := flags.Variable(f); variable != "" {
			f.Usage += " [$" + variable + "]"
		}
		if f.DefValue == "0s" || f.DefValue == "[]" {
			f.DefValue = "" // the help would show this default, because pflag no longer knows the type
		}
		_, mayBeEmpty := f.Annotations[flags.MayBeEmpty]
		f.Value = strictValue{f.Value, mayBeEmpty}
	})
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := flags.Environment(cmd); err != nil || check == nil {
			return err
		}
		return check(cmd, args)
	}
	for _, child := range cmd.Commands() {
		makeStrict(child)
	}
}
