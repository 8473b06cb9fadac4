package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is what the help fits in.
const helpWidth = "100"

const rootHelp = `Read, make and look after Snowflake IDs.

Exit codes:
  0  it is done
  1  an error, which standard error tells in one line
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
			cmd.RunE = showHelp
			for _, shell := range cmd.Commands() {
				shell.Args = noArguments
			}
		}
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+helpWidth))
}

// showHelp is for commands that do nothing themselves. An empty argument, and
// one behind "--", is no command in cobra's eyes.
func showHelp(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())}
	}
	return cmd.Help()
}

// noArguments is [cobra.NoArgs] for commands that have no commands below them.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no arguments, got %s; see %q", cmd.CommandPath(), quote(args[0]), cmd.CommandPath()+" --help")
}

// oneArgument is [cobra.ExactArgs](1) with a name of what is wanted.
func oneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%q wants one argument, %s, got %d; see %q", cmd.CommandPath(), name, len(args), cmd.CommandPath()+" --help")
	}
}

// atLeastOneArgument is [cobra.MinimumNArgs](1) with a name of what is wanted.
func atLeastOneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%q wants an argument, %s; see %q", cmd.CommandPath(), name, cmd.CommandPath()+" --help")
	}
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
