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
	text := fmt.Sprintf("%s %d/%d", now.Stage, now.Done+1, now.Of)
	if now.Table != "" {
		text += " " + now.Table + ":"
	}
	text += " " + now.Step
	if now.Rate > 0 {
		text += fmt.Sprintf(": %d of about %d rows, %.0f a second, %d at a time", now.Rows, now.OfRows, now.Rate, now.Batch)
	}
	if now.Remaining >= time.Second {
		text += ", about " + terminal.Span(now.Remaining) + " to go"
	}
	if now.Waiting != "" {
		text += "; waits for " + now.Waiting
	}
	return text
}
