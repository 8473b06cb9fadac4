package migrate

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// onlineInterval is between two lines about the same step: one may take hours.
const onlineInterval = 10 * time.Second

// showOnlineProgress writes a line for each step, and for one that takes long.
func showOnlineProgress(cmd *cobra.Command) func(sqlmigrate.OnlineProgress) {
	var last sqlmigrate.OnlineProgress
	return func(now sqlmigrate.OnlineProgress) {
		again := now.Step == last.Step && now.Done == last.Done && last.Elapsed > 0
		if again && now.Waiting == "" && now.Elapsed-last.Elapsed < onlineInterval {
			return
		}
		last = now
		terminal.Say(cmd.ErrOrStderr(), "%s", onlineLine(now))
	}
}

func onlineLine(now sqlmigrate.OnlineProgress) string {
	if now.Step == "" {
		return fmt.Sprintf("%d of %d steps done after %s", now.Done, now.Of, terminal.Rounded(now.Elapsed))
	}
	return fmt.Sprintf("%s %d/%d", now.Stage, now.Done+1, now.Of) +
		when(now.Table != "", " %s:", now.Table) + " " + now.Step +
		when(now.Rate > 0, ": %d of about %d rows, %.0f a second, %d at a time", now.Rows, now.OfRows, now.Rate, now.Batch) +
		when(now.Remaining >= time.Second, ", about %s to go", terminal.Span(now.Remaining)) +
		when(now.Waiting != "", "; waits for %s", now.Waiting)
}

// when is a part of a line that is left out where it does not apply.
func when(applies bool, format string, args ...any) string {
	if !applies {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
