package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// Group checks the arguments of a command that only groups other commands. It treats an
// argument as an unknown command.
func Group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(cmd, args[0], "")
}

// UnknownCommand returns the error for an argument that is not a command below cmd. If
// the argument may be something else, wish says so. The error suggests a command below cmd,
// or else a command one level deeper, because a user may forget the command in between.
func UnknownCommand(cmd *cobra.Command, argument, wish string) error {
	suggestion := didYouMean(argument, shownAs("", namesBelow(cmd)))
	if suggestion == "" {
		suggestion = didYouMean(argument, deeper(cmd))
	}
	return terminal.Usagef("unknown command %q for %q%s%s; see %q", argument, cmd.CommandPath(), wish, suggestion, HelpOf(cmd))
}

// namesBelow returns the names of the commands directly below cmd.
func namesBelow(cmd *cobra.Command) []string {
	var names []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() || child.Name() == "help" {
			names = append(names, child.Name())
		}
	}
	return names
}

// deeper returns the commands below the commands below cmd.
func deeper(cmd *cobra.Command) (found []choice) {
	for _, group := range cmd.Commands() {
		found = append(found, shownAs(group.Name()+" ", namesBelow(group))...)
	}
	return found
}

// A choice is a name that a user may have meant, and the text that a suggestion shows.
type choice struct{ name, text string }

// shownAs returns choices whose texts have a prefix before the name.
func shownAs(prefix string, names []string) []choice {
	choices := make([]choice, len(names))
	for i, name := range names {
		choices[i] = choice{name, prefix + name}
	}
	return choices
}

// HelpOf returns the command that prints the help of cmd.
func HelpOf(cmd *cobra.Command) string { return cmd.CommandPath() + " --help" }

// WrongFlag returns an error about flags with a suggestion for an unknown flag, and with the
// command that prints the help. Package cli calls it for the flags of all commands.
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

// didYouMean returns a suggestion with the closest choices, or "" if no name is close.
func didYouMean(text string, choices []choice) string {
	const farthest = 2 // a name at a larger distance is not a misspelling of the text
	nearest, closest := farthest+1, []string(nil)
	for _, c := range choices {
		d := distance(strings.ToLower(text), c.name)
		if len(text) > 1 && strings.HasPrefix(c.name, text) { // an abbreviation is as good as a misspelling
			d = min(d, farthest)
		}
		switch {
		case d >= len(c.name): // such a name has no letter in common with the text
		case d < nearest:
			nearest, closest = d, []string{c.text}
		case d == nearest && d <= farthest:
			closest = append(closest, c.text)
		}
	}
	if closest == nil {
		return ""
	}
	return " (did you mean " + strings.Join(closest, " or ") + "?)"
}

// distance returns how many letters have to be added, removed, replaced or swapped with
// their neighbour to turn a into b.
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
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
