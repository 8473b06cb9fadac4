package readonly

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
)

// CompleteTables returns a function by which a shell completes arguments with the names of the
// tables that have an integer key. It reads them from the database of the flags f.
func CompleteTables(f *flags.Database) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return flags.Completions(cmd, given, func(ctx context.Context) (found []cobra.Completion, err error) {
			err = With(ctx, f, func(p *Database) error {
				tables, err := p.Tables("") // of the current schema, and on PostgreSQL of the search_path
				for _, t := range tables {
					found = append(found, t.String())
				}
				return err
			})
			return found, err
		})
	}
}
