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

// MayBeEmpty is the annotation of flags that accept an empty text, because the empty text has
// a meaning or because the command rejects it itself. Package cli makes all other flags reject
// an empty text.
const MayBeEmpty = "may be empty"

// ChoiceVar adds a string flag whose valid values are choices, which the shell completes.
// value is the default. The command has to check the value itself, also an empty text.
func ChoiceVar(cmd *cobra.Command, to *string, name, value, usage string, choices []string) {
	cmd.Flags().StringVar(to, name, value, usage)
	_ = cmd.Flags().SetAnnotation(name, MayBeEmpty, nil)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// ShowHelp prints the help of cmd. It is the RunE of a command that only groups other
// commands.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// NoArguments rejects all arguments of a command without subcommands. The error of
// [cobra.NoArgs] would speak of an unknown command.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q takes no arguments, got %s; see %q", cmd.CommandPath(), terminal.Quote(args[0]), HelpOf(cmd))
}

// OneArgument returns a check that requires exactly one argument. name is the name of the
// argument in the error, such as TIME.
func OneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%q wants one argument, %s, got %d; see %q", cmd.CommandPath(), name, len(args), HelpOf(cmd))
	}
}

// AtLeastOneArgument returns a check that requires one or more arguments. name is the name
// of the argument in the error, such as WORKER.
func AtLeastOneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("%q wants an argument, %s; see %q", cmd.CommandPath(), name, HelpOf(cmd))
	}
}

// errDeclined is the error if the user does not answer yes to the question of a [Confirm].
var errDeclined = errors.New("not confirmed: nothing has been changed")

// A Confirm is the flag --yes of a command that asks for confirmation before it changes
// something.
type Confirm struct{ yes bool }

// Register adds the flag to a command.
func (f *Confirm) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation; needed where standard input is not a terminal")
}

// Ask asks the question on standard error, and returns nil if the answer is y or yes. With
// --yes it returns nil without asking. If standard input is not a terminal, where a person
// could answer, it returns an error.
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
		terminal.Say(cmd.ErrOrStderr(), "") // ends the line of the question
		return fmt.Errorf("%w (%w)", errDeclined, err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}

// TokenVariable is the environment variable that can hold the token in place of --token-file.
// Both keep the token out of the command line, which every user of the machine can read.
const TokenVariable = "GORMFLAKE_TOKEN"

// Token is the flag --token-file. The token is a secret that clients of the service send.
type Token struct{ file string }

// Register adds the flag to a command.
func (f *Token) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "token-file", "", "file with the bearer token that clients must send, which $"+TokenVariable+" may hold instead (default none)")
}

// Value returns the token from the file or, without --token-file, from [TokenVariable]. It
// returns "" if neither is given, because the service then needs no token. It returns an
// error for an empty file or variable, because an empty token would open the service to
// everybody.
func (f *Token) Value() (string, error) {
	token, set := os.LookupEnv(TokenVariable)
	source := "$" + TokenVariable
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, set, source = strings.TrimRight(string(text), "\r\n"), true, "--token-file "+f.file
	}
	if set && token == "" {
		return "", terminal.Usagef("%s is empty: want a token", source)
	}
	return token, nil
}
