// Package cli is the command line of gormflake: the root command, help and version.
// Each other command is a package below, with a function New.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	out := &buffer{bufio.NewWriter(streams.Out), streams.Out}
	streams.Out = out
	root := Command(streams)
	running := false // until then, an error of cobra is a mistake in the command line
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		running = errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()) == nil // which cobra checks after this hook
	}
	root.SetArgs(ids.TimeArguments(root, args))
	err := root.ExecuteContext(ctx)
	if !running {
		err = terminal.Usage(err)
	}
	if unwritten := out.Flush(); unwritten != nil && (err == nil || errors.Is(err, unwritten)) {
		if errors.Is(unwritten, syscall.EPIPE) {
			return terminal.ExitPipe // who reads has had enough, as head has
		}
		err = fmt.Errorf("write to standard output: %w", cmp.Or(err, unwritten))
	}
	if err == nil {
		return terminal.ExitOK
	}
	if text := terminal.OneLine(err); text != "" {
		terminal.Say(streams.Err, "gormflake: %s", plain.Words(text))
	}
	return terminal.ExitCode(err)
}

// Command is the root command, which [Main] runs.
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

func flagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if _, takes := cmd.Annotations[ids.TakesIDs]; takes && errors.As(err, &unknown) {
		if group := unknown.GetSpecifiedShortnames(); group != "" && group[0] >= '0' && group[0] <= '9' {
			return fmt.Errorf("-%s is neither a flag nor an ID: no ID is negative; see %q", group, help)
		}
	}
	return fmt.Errorf("%w; see %q", err, help)
}

// A buffer keeps lines back until the command flushes it or ends. After an error it
// writes nothing more, and Flush returns that error.
type buffer struct {
	*bufio.Writer
	to io.Writer
}

// Stream is what may be a terminal.
func (b *buffer) Stream() io.Writer { return b.to }
