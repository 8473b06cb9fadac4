package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// writeMetrics writes one series of each metric, and only the first where no move is under
// way. Their labels have the tables as the command names them, so that each command writes
// the same series all the time.
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
