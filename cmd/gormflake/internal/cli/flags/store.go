package flags

import (
	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// DefaultTable is the one of package sqllease.
const DefaultTable = "snowflake_workers"

// Store are the flags that say where in the database the workers are kept.
type Store struct{ Table, Namespace string }

// Register adds the flags to a command.
func (f *Store) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Table, "table", DefaultTable, "table of the workers")
	cmd.Flags().StringVar(&f.Namespace, "namespace", "default", "namespace of the workers within the table")
}

// Check says what is wrong before a database is asked.
func (f *Store) Check() error {
	_, err := sqllease.DDL("sqlite", f.Options()...)
	return terminal.Usage(err)
}

// CheckRemote says what is wrong where the store is not a database.
func (f *Store) CheckRemote() error {
	if f.Table != DefaultTable {
		return terminal.Usagef("--table %s: want a database, for other stores have no tables: --namespace tells their workers apart", terminal.Quote(f.Table))
	}
	return nil
}

// Options returns the options of a store.
func (f *Store) Options() []sqllease.Option {
	return []sqllease.Option{sqllease.WithTable(f.Table), sqllease.WithNamespace(f.Namespace)}
}
