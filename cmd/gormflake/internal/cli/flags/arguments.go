package flags

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// MayBeEmpty marks the flags that take an empty text, to which it means something
// or which check it themselves. All others refuse it.
const MayBeEmpty = "may be empty"

// ChoiceVar is StringVar for one of a few texts, which the shell completes and the
// command checks.
func ChoiceVar(cmd *cobra.Command, to *string, name, value, usage string, choices []string) {
	cmd.Flags().StringVar(to, name, value, usage)
	_ = cmd.Flags().SetAnnotation(name, MayBeEmpty, nil)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// ShowHelp is for commands that do nothing themselves. An empty argument, and
// one behind "--", is not a command to cobra.
func ShowHelp(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return terminal.Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return cmd.Help()
}

// NoArguments is [cobra.NoArgs] for commands that have no commands below them.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no arguments, got %s; see %q", cmd.CommandPath(), terminal.Quote(args[0]), cmd.CommandPath()+" --help")
}

// OneArgument is [cobra.ExactArgs](1) with a name of what is wanted.
func OneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%q wants one argument, %s, got %d; see %q", cmd.CommandPath(), name, len(args), cmd.CommandPath()+" --help")
	}
}

// AtLeastOneArgument is [cobra.MinimumNArgs](1) with a name of what is wanted.
func AtLeastOneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%q wants an argument, %s; see %q", cmd.CommandPath(), name, cmd.CommandPath()+" --help")
	}
}
