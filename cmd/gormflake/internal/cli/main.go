package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command that args name and returns the exit code of the
// process. An error is one line on Err.
func Main(ctx context.Context, args []string, streams Streams) int {
	out := bufio.NewWriter(streams.Out)
	root := newRoot(Streams{In: streams.In, Out: out, Err: streams.Err})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("write to standard output: %w", flushed)
	}
	if err == nil {
		return exitOK
	}
	if text := oneLine(err); text != "" {
		fmt.Fprintln(streams.Err, "gormflake: "+text)
	}
	return exitCode(err)
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "gormflake",
		Short:         "Read, make and look after Snowflake IDs",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %q", err, cmd.CommandPath()+" --help")}
	})
	root.AddCommand()
	return root
}

// oneLine makes a line of an error that may be joined of several.
func oneLine(err error) string {
	var silent silentError
	if errors.As(err, &silent) {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
