package flags

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionPatience is how long a shell waits for completions.
const completionPatience = 3 * time.Second

// Completions returns what find finds without the arguments that are given already. A
// database that is away completes nothing, because a shell shows no errors.
func Completions(cmd *cobra.Command, given []string, find func(context.Context) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	if err := Environment(cmd); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	found, err := find(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found = slices.DeleteFunc(found, func(c cobra.Completion) bool {
		word, _, _ := strings.Cut(c, "\t")
		return slices.Contains(given, word)
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}
