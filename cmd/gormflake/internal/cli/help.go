package cli

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// Help is as wide as the terminal, up to widestHelp characters, and helpWidth characters
// if the output is not a terminal.
const helpWidth, widestHelp = 80, 100

const rootHelp = `Read, create and manage Snowflake IDs.

Exit codes:
  0  it is done
  1  an error, which standard error states in one line
  2  the command line is wrong; nothing was done
  3  the command worked, and what it has found wants action: of doctor, vet and
     "migrate plan"; of "migrate apply", something is left undone
  130  Ctrl-C; standard error states what was changed, if anything
  141  whoever read the output has ended

A flag that is left out takes its value from the environment variable that its help
names, such as $GORMFLAKE_DSN; of a flag that may be repeated, one value a line.`

// completeHelp makes the two commands that cobra adds, help and completion, reject unknown
// arguments. It also sets the width of all help texts.
func completeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				// For "help workers rase", topic is the command workers and rest is "rase".
				topic, rest, err := root.Find(args)
				if err != nil || len(rest) == 0 {
					return err
				}
				return flags.Group(topic, rest) // otherwise cobra would print the help of topic
			}
		case "completion":
			cmd.Args = flags.Group
			cmd.RunE = flags.ShowHelp
			for _, shell := range cmd.Commands() {
				shell.Args = flags.NoArguments
			}
		}
	}
	width := helpWidth
	if columns := terminal.Width(root.OutOrStdout()); columns > 0 {
		width = min(widestHelp, columns)
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = wrap(cmd.Long, width)
		help(cmd, args)
	})
	// Cobra's template does not wrap the descriptions of flags.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(width)))
}

var (
	// lineBreak matches a line break within a paragraph or an item. Such a break is
	// followed by at least four spaces, or stands between a line of 60 characters or more
	// and a line that begins without a space. In the second case, the match includes the
	// last 60 characters before the break and the first behind it, which are its groups.
	lineBreak = regexp.MustCompile(`\n {4,}|([^\n]{60})\n(\S)`)

	// item matches the beginning of an item, such as "  1. " or "  held     ". The further
	// lines of the item are indented by the width of this beginning.
	item = regexp.MustCompile(`^  (\d\. |\S.*?  +)`)
)

// wrap wraps the text of a help at width. It first joins the lines of each paragraph, and
// of each item that begins with two spaces, because the source wraps them at about 80
// characters.
func wrap(text string, width int) string {
	// $1 and $2 are the text on both sides of a line break, which a space replaces.
	lines := strings.Split(lineBreak.ReplaceAllString(text, "$1 $2"), "\n")
	for i, line := range lines {
		lines[i] = terminal.Wrap(line, width, len(item.FindString(line)))
	}
	return strings.Join(lines, "\n")
}
