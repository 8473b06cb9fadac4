package flags

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// MayBeEmpty marks flags that accept an empty text, because it has a meaning or because
// they check it themselves. All other flags reject an empty text.
const MayBeEmpty = "may be empty"

// ChoiceVar adds a string flag with a few valid values, which the shell completes. The
// command has to check the value itself.
func ChoiceVar(cmd *cobra.Command, to *string, name, value, usage string, choices []string) {
	cmd.Flags().StringVar(to, name, value, usage)
	_ = cmd.Flags().SetAnnotation(name, MayBeEmpty, nil)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// ShowHelp prints the help of a command that only groups other commands.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// NoArguments rejects all arguments of a command without subcommands. The error of
// [cobra.NoArgs] would speak of an unknown command.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no arguments, got %s; see %q", cmd.CommandPath(), terminal.Quote(args[0]), HelpOf(cmd))
}

// OneArgument returns a check that rejects any number of arguments but one. Its error has the
// name of the argument.
func OneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%q wants one argument, %s, got %d; see %q", cmd.CommandPath(), name, len(args), HelpOf(cmd))
	}
}

// AtLeastOneArgument returns a check that rejects a command line without arguments. Its error
// has the name of the argument.
func AtLeastOneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%q wants an argument, %s; see %q", cmd.CommandPath(), name, HelpOf(cmd))
	}
}

// errDeclined is the error if the user does not answer yes.
var errDeclined = errors.New("not confirmed: nothing has been changed")

// A Confirm is the flag --yes.
type Confirm struct{ yes bool }

// Register adds the flag to a command.
func (f *Confirm) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation; needed where standard input is not a terminal")
}

// Ask asks the question, and returns nil if the answer is yes. With --yes it does not
// ask. If standard input is not a terminal, it returns an error.
func (f *Confirm) Ask(cmd *cobra.Command, question string) error {
	if f.yes {
		return nil
	}
	if !terminal.IsTerminal(cmd.InOrStdin()) {
		return terminal.Usagef("standard input is not a terminal, so nobody can confirm: give --yes; nothing has been changed")
	}
	_, _ = fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	answer, err := bufio.NewReader(terminal.Reader{Ctx: cmd.Context(), In: cmd.InOrStdin()}).ReadString('\n')
	if err != nil {
		terminal.Say(cmd.ErrOrStderr(), "")
		return fmt.Errorf("%w (%w)", errDeclined, err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}

// TokenVariable is the environment variable for the token. Like the file, it keeps the
// token out of the command line, which every user of the machine can read.
const TokenVariable = "GORMFLAKE_TOKEN"

// Token is the flag --token-file.
type Token struct{ file string }

// Register adds the flag to a command.
func (f *Token) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "token-file", "", "file with the bearer token that clients must send, which $"+TokenVariable+" may hold instead (default none)")
}

// Value returns the token, or "" if the service needs no token. It returns an error for
// an empty file or variable, because an empty token would open the service to everybody.
func (f *Token) Value() (string, error) {
	token, set := os.LookupEnv(TokenVariable)
	where := "$" + TokenVariable
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, set, where = strings.TrimRight(string(text), "\r\n"), true, "--token-file "+f.file
	}
	if set && token == "" {
		return "", terminal.Usagef("%s is empty: want a token", where)
	}
	return token, nil
}
