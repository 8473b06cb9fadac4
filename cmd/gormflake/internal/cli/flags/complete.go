package flags

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionTimeout limits the time of a completion, because the shell waits for it.
const completionTimeout = 3 * time.Second

// Completions returns the arguments that the shell offers to the user who presses Tab: the
// results of find without the arguments in given, which the command line already has. It
// first sets the flags from their environment variables, because find may need --dsn. After
// an error it returns no completions, because a shell does not show errors.
func Completions(cmd *cobra.Command, given []string, find func(context.Context) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	if err := Environment(cmd); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	found, err := find(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found = slices.DeleteFunc(found, func(c cobra.Completion) bool {
		word, _, _ := strings.Cut(c, "\t") // a tab separates the argument from its description
		return slices.Contains(given, word)
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}
