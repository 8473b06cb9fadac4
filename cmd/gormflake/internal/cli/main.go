package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	// Now is the clock that ages are told by; nil is [time.Now].
	Now func() time.Time

	// Wait waits as long as is said, or until ctx ends; nil is a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Main runs the command that args name and returns the exit code of the
// process. An error is one line on Err.
func Main(ctx context.Context, args []string, streams Streams) int {
	out := bufio.NewWriter(output{streams.Out})
	root := newRoot(Streams{In: streams.In, Out: out, Err: streams.Err, Now: streams.Now, Wait: streams.Wait})
	running := false
	observe(root, &running)
	root.SetArgs(timeArguments(root, args))
	err := root.ExecuteContext(ctx)
	if err != nil && !running {
		err = usageError{err}
	}
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = flushed
	}
	if err == nil {
		return exitOK
	}
	if text := oneLine(err); text != "" {
		say(streams.Err, "gormflake: %s", text)
	}
	return exitCode(err)
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "gormflake",
		Short:         "Read, make and look after Snowflake IDs",
		Long:          rootHelp,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          showHelp,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(flagError)
	now := streams.Now
	if now == nil {
		now = time.Now
	}
	root.AddCommand(newGen(now))
	root.AddCommand(newParse(now))
	root.AddCommand(newMin(now))
	root.AddCommand(newMax(now))
	root.AddCommand(newServe())
	root.AddCommand(newDoctor(now))
	root.AddCommand(newMigrate())
	root.AddCommand(newWorkers(now, waiterOf(streams.Wait)))
	root.AddCommand(newVersion())
	completeHelp(root)
	makeStrict(root)
	return root
}

// observe notes when a command begins to work: what cobra returns before that is
// a mistake in the command line.
func observe(cmd *cobra.Command, running *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*running = true
			return run(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		observe(child, running)
	}
}

func flagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if _, takes := cmd.Annotations[takesIDs]; takes && errors.As(err, &unknown) {
		if group := unknown.GetSpecifiedShortnames(); group != "" && group[0] >= '0' && group[0] <= '9' {
			return fmt.Errorf("-%s is neither a flag nor an ID: no ID is negative; see %q", group, help)
		}
	}
	return fmt.Errorf("%w; see %q", err, help)
}

// An output says in its errors what it is.
type output struct{ to io.Writer }

func (o output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		err = fmt.Errorf("write to standard output: %w", err)
	}
	return n, err
}

// oneLine makes a line of an error that may be joined of several, and shows
// what a terminal would act on.
func oneLine(err error) string {
	var silent silentError
	if errors.As(err, &silent) {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		switch text := b.String(); {
		case line == "" || text == "":
		case strings.HasSuffix(text, ":") || strings.HasSuffix(text, "?"):
			b.WriteByte(' ')
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return strings.Map(printable, b.String())
}

func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return '?'
	}
	return r
}
