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
	started := false // an error before the command has started is a mistake in the command line
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		// Cobra makes the same two checks after this hook, and starts the command if both
		// succeed.
		started = errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()) == nil
	}
	// The commands min and max take times such as -1h, and vet takes -tags, which pflag
	// would parse as short flags.
	root.SetArgs(ids.WithTimesLast(root, vet.WithLongTags(args)))
	err := root.ExecuteContext(ctx)
	if !started {
		err = terminal.Usage(err)
	}
	// Report a failed write of the output, unless the command has failed for another reason.
	// Flush returns the first error of all writes. A command that has called Flush itself
	// has already returned this error, so that err contains outputErr.
	if outputErr := out.Flush(); outputErr != nil && (err == nil || errors.Is(err, outputErr)) {
		if errors.Is(outputErr, syscall.EPIPE) {
			return terminal.ExitPipe // the reader of the output has ended, as in "gormflake gen | head"
		}
		err = fmt.Errorf("write to standard output: %w", cmp.Or(err, outputErr))
	}
	if err == nil {
		return terminal.ExitOK
	}
	// After Ctrl-C, the error says what was changed. A command that may have changed
	// something has called Interrupted itself, and this second call keeps its text.
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

// flagError adds advice to an error about flags, such as the flag that the user may have
// meant. pflag reads the -5 of "gormflake parse -5" as a flag of one letter, so for a
// command that takes IDs the error says that no ID is negative.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if _, takesIDs := cmd.Annotations[ids.TakesIDs]; takesIDs && errors.As(err, &unknown) {
		letters := unknown.GetSpecifiedShortnames() // the argument without its hyphen; empty for --name
		if letters != "" && letters[0] >= '0' && letters[0] <= '9' {
			return fmt.Errorf("-%s is neither a flag nor an ID: no ID is negative; see %q", letters, flags.HelpOf(cmd))
		}
	}
	return flags.WrongFlag(cmd, err)
}

// A buffer collects the output until the command flushes it or ends. After an error it
// does not write any more, and Flush returns that error. Package terminal calls its methods
// Flush and Stream.
type buffer struct {
	*bufio.Writer
	stream io.Writer
}

// Stream returns the stream under the buffer, by which package terminal finds out whether
// the output goes to a terminal.
func (b *buffer) Stream() io.Writer { return b.stream }

// A strictValue is a flag value with readable errors. It rejects values that pflag accepts
// silently. These are an empty text, which is often an unset variable of a script, and a
// number with a leading zero, because pflag reads 010 as 8, which is another worker.
type strictValue struct {
	pflag.Value
	mayBeEmpty bool // whether the flag accepts an empty text
}

// Set checks the text, and then passes it to the value of pflag. If that value returns an
// error, Set returns an error that says which text is wanted.
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
		return number.Err // for example "value out of range", without the name of strconv's function
	}
	return err
}

// isWhole reports whether text is a whole number in decimal without a leading zero. It
// accepts numbers out of range, which the flag itself rejects.
func isWhole(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	// Formatting n again gives another text if text has a leading zero or a plus sign.
	return text == strconv.FormatInt(n, 10) || errors.Is(err, strconv.ErrRange)
}

// makeStrict wraps the values of all flags of cmd and of its subcommands in a strictValue.
// It adds the environment variable of each flag to its help, and makes each command set its
// flags from these variables before it checks its arguments.
func makeStrict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if variable := flags.Variable(f); variable != "" {
			f.Usage += " [$" + variable + "]"
		}
		if f.DefValue == "0s" || f.DefValue == "[]" {
			// The help omits a default that is the zero value. pflag recognizes 0s and [] only by
			// the Go type of the value, which the wrapper below hides.
			f.DefValue = ""
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
