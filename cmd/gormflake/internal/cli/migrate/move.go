package migrate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

func newOnlineStatus() *cobra.Command {
	var set migrateFlags
	var prometheus, asJSON bool
	cmd := &cobra.Command{
		Use:   "status --dsn URL TABLE...",
		Short: "Show how far a move has come",
		Long: `Show how far a move has come: a line, or with --prometheus what the textfile
collector of node_exporter reads. The exit code is 0.`,
		Example: `  gormflake migrate online status --dsn postgres://app@db/shop orders`,
		Args:    needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			return set.withMove(cmd.Context(), flags.ReadOnly, tables, func(db *gorm.DB, online *sqlmigrate.OnlinePlan) error {
				status, err := online.Status(cmd.Context(), db)
				switch {
				case err != nil:
					return err
				case asJSON:
					return terminal.SayJSON(cmd.OutOrStdout(), statusAsJSON(status))
				case prometheus:
					writeMetrics(cmd.OutOrStdout(), set.database.Name(), tables, status)
				default:
					terminal.Say(cmd.OutOrStdout(), "%s", describeStatus(status))
				}
				return nil
			})
		},
	}
	set.register(cmd)
	cmd.Flags().BoolVar(&prometheus, "prometheus", false, "write metrics for the textfile collector of node_exporter, whose file ends with .prom")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("json", "prometheus")
	return cmd
}

func describeStatus(s sqlmigrate.OnlineStatus) string {
	if !s.Begun {
		return "no move is under way"
	}
	text := fmt.Sprintf("begun %s: %d of %d steps done", terminal.Age(s.Began, time.Now()), s.Done, s.Of) +
		when(s.Copied > 0, ", %d of about %d rows copied by the next one", s.Copied, s.OfRows) +
		when(s.Rate > 0, ", %.0f a second", s.Rate) +
		when(s.Remaining >= time.Second, ", about %s left", terminal.Span(s.Remaining)) +
		when(s.Waits > 0, ", %d batches waited for replicas", s.Waits) +
		describeSteering(s.Steering)
	switch {
	case s.Reverting:
		return text + " of the way back; next: gormflake migrate online revert"
	case s.Stage == sqlmigrate.StageFinish:
		return text + "; the keys are wide; next: gormflake migrate online finish, or revert"
	}
	return text + fmt.Sprintf(", stage %s; next: gormflake migrate online apply, or revert", s.Stage)
}

// describeSteering returns the requests to a move, each after a semicolon.
func describeSteering(s sqlmigrate.OnlineSteering) string {
	return when(s.Paused, "; paused") +
		when(s.HoldSwap, "; the swap waits for resume") +
		when(s.Stall > 0, "; batches take up to %v", s.Stall.Round(time.Millisecond)) +
		when(s.Between != plan.Hours{}, "; it works between %v", s.Between) +
		when(s.MaxRunning > 0, "; it waits while more than %d statements are running", s.MaxRunning)
}

func newOnlinePause() *cobra.Command {
	return steering(&cobra.Command{
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

func newOnlineResume() *cobra.Command {
	return steering(&cobra.Command{
		Use:     "resume --dsn URL TABLE...",
		Short:   "End a pause, and let the columns be swapped",
		Long:    `End a pause, and what "throttle --hold-swap" has asked for.`,
		Example: `  gormflake migrate online resume --dsn postgres://app@db/shop orders`,
	}, func(s *sqlmigrate.OnlineSteering) error {
		s.Paused, s.HoldSwap = false, false
		return nil
	}, "resumed")
}

// newOnlineThrottle returns the command throttle. It replaces the limits of an earlier
// throttle, but not a pause.
func newOnlineThrottle() *cobra.Command {
	var wanted sqlmigrate.OnlineSteering
	var between string
	cmd := &cobra.Command{
		Use:   "throttle --dsn URL TABLE...",
		Short: "Limit a move that runs in another terminal",
		Long: `Limit a move that runs in another terminal, or will be resumed. It keeps to the
flags within a second or so, and no more to those of an earlier throttle. Without
flags there is no limit.`,
		Example: `  gormflake migrate online throttle --dsn postgres://app@db/shop --between 22:00-06:00 --max-running 20 --hold-swap orders`,
	}
	set := cmd.Flags()
	set.DurationVar(&wanted.Stall, "stall", 0, "how long a batch may take, in the place of that of apply")
	set.StringVar(&between, "between", "", "hours in which batches and steps begin, as 22:00-06:00, by the clock where apply runs")
	set.IntVar(&wanted.MaxRunning, "max-running", 0, "wait while the server runs more statements of others")
	set.BoolVar(&wanted.HoldSwap, "hold-swap", false, "wait before the swap, until resume")
	return steering(cmd, func(s *sqlmigrate.OnlineSteering) (err error) {
		wanted.Paused = s.Paused
		if between != "" {
			wanted.Between, err = plan.ParseHours(between)
		}
		switch {
		case err != nil:
			return terminal.Usagef("--between %q: want two times of the day, as 22:00-06:00", between)
		case wanted.Stall < 0 || wanted.MaxRunning < 0:
			return terminal.Usagef("--stall %v, --max-running %d: want zero or more", wanted.Stall, wanted.MaxRunning)
		}
		*s = wanted
		return nil
	}, "throttled")
}

// steering completes a command that changes the requests to a move. done is the word for
// its success.
func steering(cmd *cobra.Command, change func(*sqlmigrate.OnlineSteering) error, done string) *cobra.Command {
	var set migrateFlags
	var asJSON bool
	cmd.Args = needTables
	cmd.RunE = func(cmd *cobra.Command, tables []string) error {
		if err := change(new(sqlmigrate.OnlineSteering)); err != nil {
			return err // from an invalid flag
		}
		return set.withMove(cmd.Context(), flags.ReadWrite, tables, func(db *gorm.DB, online *sqlmigrate.OnlinePlan) error {
			err := online.Steer(cmd.Context(), db, func(s *sqlmigrate.OnlineSteering) { _ = change(s) })
			if err != nil {
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
	set.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, as \"status\" does")
	return cmd
}

// withMove calls do with the move of the tables, even while another process runs it.
func (f *migrateFlags) withMove(ctx context.Context, mode string, tables []string, do func(*gorm.DB, *sqlmigrate.OnlinePlan) error) error {
	return f.database.With(ctx, mode, func(db *gorm.DB) error {
		targets, err := f.selection.targets(ctx, db, tables)
		if err != nil {
			return err
		}
		online, err := sqlmigrate.FindOnline(ctx, db, targets...)
		if err != nil {
			return flags.Named(err)
		}
		return do(db, online)
	})
}

// writeMetrics writes the metrics of a move. If no move has begun, it only writes the
// first metric. The label for the tables has the names on the command line, so that the
// same command always writes the same series.
func writeMetrics(out io.Writer, database string, tables []string, s sqlmigrate.OnlineStatus) {
	labels := fmt.Sprintf("database=%q,tables=%q", database, strings.Join(tables, ","))
	write := func(name, kind, help string, value float64) {
		terminal.Say(out, "# HELP gormflake_online_%[1]s %[2]s\n# TYPE gormflake_online_%[1]s %[3]s\ngormflake_online_%[1]s{%[4]s} %[5]v", name, help, kind, labels, value)
	}
	write("under_way", "gauge", "1 if an online move is under way.", number(s.Begun))
	if !s.Begun {
		return
	}
	write("steps_done", "gauge", "Steps that are over, in the direction that the move has.", float64(s.Done))
	write("steps", "gauge", "Steps in all.", float64(s.Of))
	write("rows_done", "gauge", "Rows that the next step has copied.", float64(s.Copied))
	write("rows", "gauge", "Rows that the next step copies in all, an estimate; 0 if it copies none.", float64(s.OfRows))
	write("rows_per_second", "gauge", "Rate of the process that copies, or was the last to.", s.Rate)
	write("remaining_seconds", "gauge", "Time until the swap, or until the end of the way back, an estimate.", s.Remaining.Seconds())
	write("paused", "gauge", "1 if the move waits for resume.", number(s.Steering.Paused))
	write("reverting", "gauge", "1 if the move is being taken back.", number(s.Reverting))
	write("lag_waits_total", "counter", "Batches that have waited for replicas.", float64(s.Waits))
	labels += fmt.Sprintf(",stage=%q", s.Stage)
	write("stage", "gauge", "Always 1; its label is the stage that is next.", 1)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
