package migrate

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// redraw is how often a bar shows the time that has passed: one statement may
// take hours.
const redraw = time.Second

// A progress shows how far a run is: as one bar for all phases on a terminal, and as a
// line for each statement elsewhere.
type progress struct {
	out io.Writer

	expected map[sqlmigrate.PhaseName]int // statements of the phases that have not begun
	last     sqlmigrate.Progress
	over     int // statements of the phases before the one of last

	bar *progressbar.ProgressBar
	end chan struct{} // ends the goroutine that redraws the bar, between two drawings
}

// show is a function for sqlmigrate.WithProgress.
func (p *progress) show(now sqlmigrate.Progress) {
	done, of := p.overall(now)
	if now.Retry > 0 || !terminal.IsTerminal(p.out) {
		p.close()
		p.line(now)
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(of,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetWidth(20),
			progressbar.OptionOnCompletion(func() { terminal.Say(p.out, "") }),
		)
		p.end = make(chan struct{})
		go keepDrawn(p.bar, p.end)
	}
	p.bar.Describe(strings.TrimSpace(string(now.Phase) + " " + now.Table.String()))
	p.bar.ChangeMax(of)
	_ = p.bar.Set(done)
	if done == of {
		p.close()
	}
}

// overall returns how many statements of all phases are over, and how many there are: of
// the phases to come, as many as the plan shows.
func (p *progress) overall(now sqlmigrate.Progress) (done, of int) {
	if now.Phase != p.last.Phase {
		p.over += p.last.Of
		delete(p.expected, now.Phase)
	}
	p.last = now
	of = p.over + now.Of
	for _, n := range p.expected {
		of += n
	}
	return p.over + now.Done, of
}

func (p *progress) line(now sqlmigrate.Progress) {
	switch {
	case now.Retry > 0:
		terminal.Say(p.out, "%s: a lock could not be had in time: nothing is held for %s, then try %d", now.Phase, terminal.Rounded(now.Wait), now.Retry+1)
	case now.SQL == "":
		terminal.Say(p.out, "%s: %d of %d statements done after %s", now.Phase, now.Done, now.Of, terminal.Rounded(now.Elapsed))
	default:
		terminal.Say(p.out, "%s %d/%d %s%s", now.Phase, now.Done+1, now.Of, when(now.Table.Name != "", "%s: ", now.Table), now.Step)
	}
}

func keepDrawn(bar *progressbar.ProgressBar, end <-chan struct{}) {
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = bar.RenderBlank()
		case <-end:
			return
		}
	}
}

// close leaves the bar as it is; what is written next stands below it.
func (p *progress) close() {
	if p.bar == nil {
		return
	}
	p.end <- struct{}{}
	if !p.bar.IsFinished() {
		_ = p.bar.Exit()
	}
	p.bar = nil
}

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
		when(now.Table.Name != "", " %s:", now.Table) + " " + now.Step +
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
