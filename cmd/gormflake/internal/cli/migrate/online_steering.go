package migrate

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// newOnlinePause returns the command pause, which makes a move wait before its next batch or
// step.
func newOnlinePause() *cobra.Command {
	return newSteering(&cobra.Command{
		Use:   "pause --dsn URL TABLE...",
		Short: "Let a move that runs in another terminal begin nothing more",
		Long: `Let a move that runs in another terminal begin no batch and no step until "resume".
A statement that has begun, such as one that builds an index, comes to its end.`,
		Example: `  gormflake migrate online pause --dsn postgres://app@db/shop orders`,
	}, func(s *sqlmigrate.OnlineSteering) error {
		s.Paused = true
		return nil
	}, "paused")
}

// newOnlineResume returns the command resume. It ends a pause, and also the request of
// "throttle --hold-swap", but keeps the other limits of throttle.
func newOnlineResume() *cobra.Command {
	return newSteering(&cobra.Command{
		Use:     "resume --dsn URL TABLE...",
		Short:   "End a pause, and let the columns be swapped",
		Long:    `End a pause, and what "throttle --hold-swap" has asked for.`,
		Example: `  gormflake migrate online resume --dsn postgres://app@db/shop orders`,
	}, func(s *sqlmigrate.OnlineSteering) error {
		s.Paused, s.HoldSwap = false, false
		return nil
	}, "resumed")
}

// newOnlineThrottle returns the command throttle, which limits a move. It replaces all limits
// of an earlier throttle, but does not end a pause.
func newOnlineThrottle() *cobra.Command {
	var limits sqlmigrate.OnlineSteering // the values of the flags, and the present pause
	var between, pace string
	cmd := &cobra.Command{
		Use:   "throttle --dsn URL TABLE...",
		Short: "Limit a move that runs in another terminal",
		Long: `Limit a move that runs in another terminal, or will be resumed. It keeps to the
flags within a second or so, and no more to those of an earlier throttle. Without
flags there is no limit.`,
		Example: `  gormflake migrate online throttle --dsn postgres://app@db/shop --between 22:00-06:00 --max-running 20 --hold-swap orders`,
	}
	flagSet := cmd.Flags()
	flagSet.DurationVar(&limits.Stall, "stall", 0, "how long a batch may take, in the place of that of apply")
	flags.ChoiceVar(cmd, &pace, "pace", "", "polite or full, instead of the --pace of apply", paces)
	flagSet.StringVar(&between, "between", "", "hours in which batches and steps begin, as 22:00-06:00, by the clock where apply runs")
	flagSet.IntVar(&limits.MaxRunning, "max-running", 0, "wait while the server runs more statements of others")
	flagSet.BoolVar(&limits.HoldSwap, "hold-swap", false, "wait before the swap, until resume")
	return newSteering(cmd, func(s *sqlmigrate.OnlineSteering) (err error) {
		limits.Paused = s.Paused // because only resume ends a pause
		limits.Pace = sqlmigrate.Pace(pace)
		if between != "" {
			limits.Between, err = plan.ParseHours(between)
		}
		switch {
		case err != nil:
			return terminal.Usagef("--between %q: want two times of the day, as 22:00-06:00", between)
		case pace != "" && !slices.Contains(paces, pace):
			return terminal.Usagef("--pace %q: want polite or full", pace)
		case limits.Stall < 0 || limits.MaxRunning < 0:
			return terminal.Usagef("--stall %v, --max-running %d: want zero or more", limits.Stall, limits.MaxRunning)
		}
		*s = limits
		return nil
	}, "throttled")
}

// newSteering completes cmd, a command that changes the requests to an online move. The
// command stores the requests in the database, where the process that runs the move, often in
// another terminal, reads them. change makes the change, or returns the error of an invalid
// flag. done is the word that the command prints for success, such as paused.
func newSteering(cmd *cobra.Command, change func(*sqlmigrate.OnlineSteering) error, done string) *cobra.Command {
	var f migrateFlags
	var asJSON bool
	cmd.Args = needTables
	cmd.RunE = func(cmd *cobra.Command, tables []string) error {
		// Call change without a database first, to report an invalid flag before a database is
		// opened.
		if err := change(new(sqlmigrate.OnlineSteering)); err != nil {
			return err
		}
		return f.withMove(cmd.Context(), flags.ReadWrite, tables, func(db *gorm.DB, online *sqlmigrate.OnlinePlan) error {
			// The flags were found valid above, so change returns no error here.
			err := online.Steer(cmd.Context(), db, func(s *sqlmigrate.OnlineSteering) { _ = change(s) })
			if err != nil { // after Ctrl-C, it is not known whether the database has stored the change
				return terminal.Interrupted(cmd.Context(), err, `the move may have been changed: see "gormflake migrate online status"`)
			}
			status, err := online.Status(cmd.Context(), db)
			switch {
			case err != nil:
				return terminal.Interrupted(cmd.Context(), err, "the move is "+done)
			case asJSON:
				return terminal.SayJSON(cmd.OutOrStdout(), statusAsJSON(status))
			}
			terminal.Say(cmd.OutOrStdout(), "%s%s\n%s", done, cmp.Or(describeSteering(status.Steering), "; no limit is set"), describeStatus(status))
			return nil
		})
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, as \"status\" does")
	return cmd
}
