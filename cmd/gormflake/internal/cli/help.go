package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// helpWidth is what the help fits in, where the terminal is not narrower.
const helpWidth = 100

const rootHelp = `Read, create and manage Snowflake IDs.

Exit codes:
  0  it is done
  1  an error, which standard error states in one line
  2  the command line is wrong; nothing was done
  3  of doctor and "migrate plan": there is something to do`

// completeHelp adds cobra's own commands, which take any argument, as strict
// ones.
func completeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error { return checkTopic(root, args) }
		case "completion":
			cmd.Args = cobra.NoArgs
			cmd.RunE = flags.ShowHelp
			for _, shell := range cmd.Commands() {
				shell.Args = flags.NoArguments
			}
		}
	}
	width := helpWidth
	if columns := terminal.Width(root.OutOrStdout()); columns > 0 {
		width = min(width, columns)
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(width)))
}

// checkTopic returns an error where cobra would print the help of something
// else.
func checkTopic(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return cobra.NoArgs(cmd, rest)
}
