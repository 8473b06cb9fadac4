package doctor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/leasestore"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// New returns the command doctor. now is the clock.
func New(now func() time.Time) *cobra.Command {
	f := doctorFlags{now: now}
	cmd := &cobra.Command{
		Use:   "doctor --dsn URL",
		Short: "Look for what endangers the keys of a database",
		Long: `Look for what endangers the keys of a database, or of another store of leased
workers (Redis, etcd, ZooKeeper: clock, settings, layout, workers), and say how to
fix it:

  clock     this machine's clock against the server's: a warning from 500ms on,
            a problem from 1m on, beyond what the round trip leaves open
  settings  of the server, under which it forgets what it has acknowledged
  layout    the one given by flags against the leased workers' one, and when
            it expires: a warning in the last 5 years, a problem in the last one
  workers   whether their table keeps each to one holder, a second table of them
            in the database, how many are free, who has died, and bounds that are
            more than 1h ahead of the clock
  keys      the largest key of each table whose primary key begins with a BIGINT:
            more than 1m ahead of the clock is a problem, and so are keys below 1, and
            a table of Snowflake IDs whose keys the database still assigns, unless its
            counter is parked, or --park is given and it is a sequence of PostgreSQL,
            which does not follow keys. With --try, keys are put into copies of the
            tables, which have no rows: today's, which must enter, and the last one of
            the layout
  usage     how many of their numbers the keys of any integer type have used, and the
            sequences that the account may read: a warning from 75 % on, a problem
            from 90 % on, with the date on which all are if created_at shows it
  columns   those that are too narrow for a Snowflake ID and may hold keys of tables
            that are moved: what "gormflake migrate plan" lists, found in the same
            way. Name each with --reference or --not-reference there and here. On MySQL
            also those of text that hold Snowflake IDs
  serials   columns of serial numbers in tables of Snowflake IDs: whether an index
            keeps them unique, and whether they are serial numbers

Nothing is changed: the connection is set to read only, and SELECT is all that
the account needs, except for the copies of --try. What it may not see is named. No large table is read as a
whole: of serial numbers the newest 1,000 rows are read, and of columns a sample.
"gormflake migrate plan" says of a table whether it is to be moved.

The exit code is 0 if all is well, 3 if there are warnings or problems, and 1 if
the database could not be checked.`,
		Example: `  gormflake doctor --dsn sqlite://shop.db
  gormflake doctor --dsn sqlite://shop.db --json --skip tickets`,
		Args: flags.NoArguments,
		RunE: f.run,
	}
	f.database.RegisterOr(cmd, leasestore.Forms)
	f.layout.Register(cmd)
	f.store.Register(cmd)
	f.refs.Register(cmd)
	set := cmd.Flags()
	set.StringArrayVar(&f.skip, "skip", nil, "table whose keys are not Snowflake IDs, though they look like them, or other table of workers; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("skip", readonly.CompleteTables(&f.database))
	set.BoolVar(&f.try, "try", false, "try keys in copies of the tables, which needs the right to create them")
	set.BoolVar(&f.json, "json", false, "print one JSON object")
	set.StringVar(&f.textfile, "textfile", "", "file to write metrics to as well, for the textfile collector of node_exporter: its name ends with .prom")
	return cmd
}

// run examines the database or another store, and writes the report. It returns the error
// for findings if there is a warning or a problem.
func (f *doctorFlags) run(cmd *cobra.Command, _ []string) error {
	layout, layoutErr := f.layout.Layout()
	references, referencesErr := f.refs.Options()
	if err := cmp.Or(layoutErr, f.store.Check(), referencesErr); err != nil {
		return err
	}
	d := &doctor{flags: f, layout: layout, references: references}
	examine := d.examineDatabase
	if leasestore.Is(f.database.URL()) {
		examine = d.examineStore
	}
	if err := examine(cmd.Context()); err != nil {
		return err
	}
	if err := d.report.write(cmd.OutOrStdout(), f.json); err != nil {
		return err
	}
	if f.textfile != "" {
		if err := d.report.writeTextfile(f.textfile, f.database.Name()); err != nil {
			return err
		}
	}
	if d.report.healthy() {
		return nil
	}
	return terminal.ErrFindings
}

// examineDatabase runs all checks of a database, and adds their findings to the report. It
// returns an error if the database cannot be opened, or does not answer after the checks.
func (d *doctor) examineDatabase(ctx context.Context) error {
	return readonly.With(ctx, &d.flags.database, func(p *readonly.Database) error {
		d.Database = p
		if err := sqlmigrate.Validate(d.DB, nil, d.references...); err != nil {
			return terminal.Usage(flags.Named(err))
		}
		d.checkClock()
		d.checkSettings()
		d.checkWorkers() // sets the layout, with which the following checks recognize IDs
		d.checkExpiry()
		d.checkKeys() // reads the tables, which the following checks use
		d.checkTrial()
		d.checkUsage()
		d.checkColumns()
		d.checkText()
		d.checkSerials()
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("interrupted: %w", err)
		}
		// If the server has stopped during the checks, their findings are only errors of the
		// connection.
		if err := d.Ask("SELECT 1", nil, new(int)); err != nil {
			return fmt.Errorf("database does not answer any more: %w", err)
		}
		return nil
	})
}
