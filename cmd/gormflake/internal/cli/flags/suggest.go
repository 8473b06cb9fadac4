package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// Group checks the arguments of a command that only groups other commands, such as migrate.
// An argument is an unknown command, because cobra has not found a command of this name.
func Group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(cmd, args[0], "")
}

// UnknownCommand returns the error for an argument that is not a command below cmd. The error
// suggests a command below cmd with a similar name. If no such name is similar, it suggests a
// command one level deeper, for example "workers reset" for "gormflake reset", because a user
// may forget the command in between. wish is a part of the error that names other arguments of
// cmd, for example ": want one, or a worker such as 0/7", or "".
func UnknownCommand(cmd *cobra.Command, argument, wish string) error {
	suggestion := didYouMean(argument, shownAs("", namesBelow(cmd)))
	if suggestion == "" {
		suggestion = didYouMean(argument, oneLevelDeeper(cmd))
	}
	return terminal.Usagef("unknown command %q for %q%s%s; see %q", argument, cmd.CommandPath(), wish, suggestion, HelpOf(cmd))
}

// namesBelow returns the names of the commands directly below cmd.
func namesBelow(cmd *cobra.Command) []string {
	var names []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() || child.Name() == "help" { // cobra counts help as not available
			names = append(names, child.Name())
		}
	}
	return names
}

// oneLevelDeeper returns the subcommands of the commands below cmd. The text of a choice has
// both names, such as "workers reset".
func oneLevelDeeper(cmd *cobra.Command) (found []choice) {
	for _, group := range cmd.Commands() {
		found = append(found, shownAs(group.Name()+" ", namesBelow(group))...)
	}
	return found
}

// A choice is a name that a user may have meant, such as "reset", and the text that a
// suggestion shows for it, such as "workers reset".
type choice struct{ name, text string }

// shownAs returns a choice for each name, whose text is the prefix and the name.
func shownAs(prefix string, names []string) []choice {
	choices := make([]choice, len(names))
	for i, name := range names {
		choices[i] = choice{name, prefix + name}
	}
	return choices
}

// HelpOf returns the command line that prints the help of cmd, for errors.
func HelpOf(cmd *cobra.Command) string { return cmd.CommandPath() + " --help" }

// WrongFlag adds to an error about flags the command that prints the help. If the flag is
// unknown, WrongFlag also adds the flags with a similar name. Package cli calls WrongFlag for
// all commands.
func WrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	suggestion := ""
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" { // not a flag of one letter
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		suggestion = didYouMean(unknown.GetSpecifiedName(), shownAs("--", names))
	}
	return fmt.Errorf("%w%s; see %q", err, suggestion, HelpOf(cmd))
}

// didYouMean returns a suggestion with the choices whose names are closest to the word that
// the user typed, for example " (did you mean release or reset?)" for "re". It returns "" if
// no name is close.
func didYouMean(typed string, choices []choice) string {
	const maxDistance = 2 // a name at a larger distance was hardly meant
	nearest, suggested := maxDistance+1, []string(nil)
	for _, c := range choices {
		d := distance(strings.ToLower(typed), c.name)
		if len(typed) > 1 && strings.HasPrefix(c.name, typed) { // an abbreviation, such as "rel"
			d = min(d, maxDistance)
		}
		switch {
		case d >= len(c.name): // a short name, of which the typed text may have no letter
		case d < nearest:
			nearest, suggested = d, []string{c.text}
		case d == nearest && d <= maxDistance:
			suggested = append(suggested, c.text)
		}
	}
	if suggested == nil {
		return ""
	}
	return " (did you mean " + strings.Join(suggested, " or ") + "?)"
}

// distance returns how many letters have to be added, removed, replaced or swapped with
// their neighbour to turn a into b. This is the Damerau-Levenshtein distance, in the variant
// that changes no letter twice.
func distance(a, b string) int {
	// rows[i][j] is the distance from the first i bytes of a to the first j bytes of b.
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default: // replace, remove or add a letter
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] { // swapped neighbours
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
