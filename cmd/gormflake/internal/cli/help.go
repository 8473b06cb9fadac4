package cli

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// Help fits into a terminal, up to widestHelp, and elsewhere into helpWidth.
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

// completeHelp adds cobra's own commands, which take any argument, as strict
// ones.
func completeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				topic, rest, err := root.Find(args)
				if err != nil || len(rest) == 0 {
					return err
				}
				return flags.Group(topic, rest) // or cobra would print the help of something else
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
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(width)))
}

var (
	folded = regexp.MustCompile(`\n {4,}|([^\n]{60})\n(\S)`)
	item   = regexp.MustCompile(`^  (\d\. |\S.*?  +)`)
)

// wrap folds a text before width that the source has folded at about 80 characters: in
// paragraphs, and in items that two spaces begin.
func wrap(text string, width int) string {
	lines := strings.Split(folded.ReplaceAllString(text, "$1 $2"), "\n")
	for i, line := range lines {
		lines[i] = terminal.Wrap(line, width, len(item.FindString(line)))
	}
	return strings.Join(lines, "\n")
}
