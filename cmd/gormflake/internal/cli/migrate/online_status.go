package migrate

import (
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

// newOnlineStatus returns the command migrate online status, which shows how far a move has
// come.
func newOnlineStatus() *cobra.Command {
	var f migrateFlags
	var prometheus, asJSON bool
	cmd := &cobra.Command{
		Use:   "status --dsn URL TABLE...",
		Short: "Show how far a move has come",
		Long: `Show how far a move has come: a line, or with --prometheus what the textfile
collector of node_exporter reads. The exit code is 0.`,
		Example: `  gormflake migrate online status --dsn postgres://app@db/shop orders`,
		Args:    needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			return f.withMove(cmd.Context(), flags.ReadOnly, tables, func(db *gorm.DB, online *sqlmigrate.OnlinePlan) error {
				status, err := online.Status(cmd.Context(), db)
				switch {
				case err != nil:
					return err
				case asJSON:
					return terminal.SayJSON(cmd.OutOrStdout(), statusAsJSON(status))
				case prometheus:
					writeMetrics(cmd.OutOrStdout(), f.database.Name(), tables, status)
				default:
					terminal.Say(cmd.OutOrStdout(), "%s", describeStatus(status))
				}
				return nil
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&prometheus, "prometheus", false, "write metrics for the textfile collector of node_exporter, whose file ends with .prom")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("json", "prometheus")
	return cmd
}

// describeStatus returns how far a move has come and the next command, on a single line, for
// example "begun 2h 5m ago: 4 of 9 steps done, stage index; next: gormflake migrate online
// apply, or revert". Parts without a value, such as the rate, are left out.
func describeStatus(s sqlmigrate.OnlineStatus) string {
	if !s.Begun {
		return "no move is under way"
	}
	text := fmt.Sprintf("begun %s: %d of %d steps done", terminal.Age(s.Began, time.Now()), s.Done, s.Of) +
		textIf(s.Copied > 0, ", %d of about %d rows copied by the next one", s.Copied, s.OfRows) +
		textIf(s.Rate > 0, ", %.0f a second", s.Rate) +
		textIf(s.Remaining >= time.Second, ", about %s left", terminal.Span(s.Remaining)) +
		textIf(s.Waits > 0, ", %d batches waited for replicas", s.Waits) +
		describeSteering(s.Steering)
	switch {
	case s.Reverting:
		return text + " of the way back; next: gormflake migrate online revert"
	case s.Stage == sqlmigrate.StageFinish:
		return text + "; the keys are wide; next: gormflake migrate online finish, or revert"
	}
	return text + fmt.Sprintf(", stage %s; next: gormflake migrate online apply, or revert", s.Stage)
}

// describeSteering returns the requests that the commands pause and throttle have made to a
// move, each after a semicolon, as in "; paused; its pace is full".
func describeSteering(s sqlmigrate.OnlineSteering) string {
	return textIf(s.Paused, "; paused") +
		textIf(s.HoldSwap, "; the swap waits for resume") +
		textIf(s.Stall > 0, "; batches take up to %v", s.Stall.Round(time.Millisecond)) +
		textIf(s.Pace != "", "; its pace is %s", s.Pace) +
		textIf(s.Between != plan.Hours{}, "; it works between %v", s.Between) +
		textIf(s.MaxRunning > 0, "; it waits while more than %d statements are running", s.MaxRunning)
}

// withMove opens the database and calls do with the plan that the online move of the tables
// has stored there. mode is flags.ReadOnly or flags.ReadWrite. It does not inspect the tables,
// so that it works while another process runs the move and changes them. If no move has
// begun, the plan is empty.
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

// labelEscapes writes a text as the value of a label. The text format of Prometheus has only
// these three escapes.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// writeMetrics writes the metrics of a move in the text format of Prometheus. If no move has
// begun, it only writes the first metric, gormflake_online_under_way. tables are the names on
// the command line. They become a label, which then does not change while the move runs, so
// that the same command always writes the same series.
func writeMetrics(out io.Writer, database string, tables []string, s sqlmigrate.OnlineStatus) {
	labels := `database="` + labelEscapes.Replace(database) + `",tables="` + labelEscapes.Replace(strings.Join(tables, ",")) + `"`
	write := func(name, kind, help string, value float64) { // writes a metric with the present labels
		terminal.Say(out, "# HELP gormflake_online_%[1]s %[2]s\n# TYPE gormflake_online_%[1]s %[3]s\ngormflake_online_%[1]s{%[4]s} %[5]v", name, help, kind, labels, value)
	}
	write("under_way", "gauge", "1 if an online move is under way.", metricValue(s.Begun))
	if !s.Begun {
		return
	}
	write("steps_done", "gauge", "Steps that are over, in the direction that the move has.", float64(s.Done))
	write("steps", "gauge", "Steps in all.", float64(s.Of))
	write("rows_done", "gauge", "Rows that the next step has copied.", float64(s.Copied))
	write("rows", "gauge", "Rows that the next step copies in all, an estimate; 0 if it copies none.", float64(s.OfRows))
	write("rows_per_second", "gauge", "Rate of the process that copies, or was the last to.", s.Rate)
	write("remaining_seconds", "gauge", "Time until the swap, or until the end of the way back, an estimate.", s.Remaining.Seconds())
	write("paused", "gauge", "1 if the move waits for resume.", metricValue(s.Steering.Paused))
	write("reverting", "gauge", "1 if the move is being taken back.", metricValue(s.Reverting))
	write("lag_waits_total", "counter", "Batches that have waited for replicas.", float64(s.Waits))
	// Only the last metric has the label stage, because a label that changes begins a new
	// series.
	labels += `,stage="` + string(s.Stage) + `"`
	write("stage", "gauge", "Always 1; its label is the stage that is next.", 1)
}

// metricValue returns the value of a metric for a bool, which is 1 for true and 0 for false.
func metricValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
