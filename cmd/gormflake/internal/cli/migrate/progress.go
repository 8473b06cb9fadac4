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

// redrawInterval is the time after which a bar is drawn again to show the elapsed time. Without
// this, the bar would stand still during a statement that takes hours.
const redrawInterval = time.Second

// A progress shows how far "migrate apply" or "migrate revert" has come. On a terminal it is a
// bar for all phases, otherwise a line for each statement.
type progress struct {
	out io.Writer

	expected  map[sqlmigrate.PhaseName]int // number of statements in the phases that have not begun
	last      sqlmigrate.Progress          // of the previous call of show
	completed int                          // number of statements in the phases before the present one

	bar *progressbar.ProgressBar // nil while no bar is drawn
	end chan struct{}            // receives a value to end the goroutine that redraws the bar
}

// show shows a progress that package sqlmigrate reports before each statement, before each
// retry and at the end of a phase. For a retry, show prints a line even on a terminal. It ends
// the bar first, and the next call of show draws a new bar below the line.
func (p *progress) show(now sqlmigrate.Progress) {
	done, of := p.overall(now)
	if now.Retry > 0 || !terminal.IsTerminal(p.out) {
		p.close()
		p.printLine(now)
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
		go redrawBar(p.bar, p.end)
	}
	p.bar.Describe(strings.TrimSpace(string(now.Phase) + " " + now.Table.String()))
	p.bar.ChangeMax(of)
	_ = p.bar.Set(done)
	if done == of {
		p.close()
	}
}

// overall returns how many statements of all phases are done, and how many statements all
// phases have. now has these two numbers for the present phase only. overall adds the
// statements of the earlier phases, which are in p.completed, and of the phases that have not
// begun, which are in p.expected.
func (p *progress) overall(now sqlmigrate.Progress) (done, of int) {
	if now.Phase != p.last.Phase { // the phase of p.last has ended, so all its statements are done
		p.completed += p.last.Of
		delete(p.expected, now.Phase)
	}
	p.last = now
	of = p.completed + now.Of
	for _, n := range p.expected {
		of += n
	}
	return p.completed + now.Done, of
}

// printLine prints a line for a statement that begins, for a retry, or for the end of a
// phase.
func (p *progress) printLine(now sqlmigrate.Progress) {
	switch {
	case now.Retry > 0:
		terminal.Say(p.out, "%s: a lock could not be had in time: nothing is held for %s, then try %d", now.Phase, terminal.Rounded(now.Wait), now.Retry+1)
	case now.SQL == "": // the end of the phase
		terminal.Say(p.out, "%s: %d of %d statements done after %s", now.Phase, now.Done, now.Of, terminal.Rounded(now.Elapsed))
	default:
		terminal.Say(p.out, "%s %d/%d %s%s", now.Phase, now.Done+1, now.Of, textIf(now.Table.Name != "", "%s: ", now.Table), now.Step)
	}
}

// redrawBar draws the bar again every redrawInterval, until it receives a value from end.
func redrawBar(bar *progressbar.ProgressBar, end <-chan struct{}) {
	tick := time.NewTicker(redrawInterval)
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

// close stops drawing the bar and leaves it on the terminal, so that further output is
// below it. It returns at once if there is no bar.
func (p *progress) close() {
	if p.bar == nil {
		return
	}
	p.end <- struct{}{} // from now on, redrawBar does not draw
	if !p.bar.IsFinished() {
		_ = p.bar.Exit()
	}
	p.bar = nil
}

// onlineInterval is the least time between two lines about the same step of an online move. A
// step may take hours, and reports its progress often.
const onlineInterval = 10 * time.Second

// showOnlineProgress returns a function that package sqlmigrate calls with the progress of an
// online move. The function writes a line for each step, and further lines while the step
// takes longer than onlineInterval or waits, for example for a replica.
func showOnlineProgress(cmd *cobra.Command) func(sqlmigrate.OnlineProgress) {
	var last sqlmigrate.OnlineProgress
	return func(now sqlmigrate.OnlineProgress) {
		// Before the first line, last is the zero value, whose Elapsed is 0.
		sameStep := now.Step == last.Step && now.Done == last.Done && last.Elapsed > 0
		if sameStep && now.Waiting == "" && now.Elapsed-last.Elapsed < onlineInterval {
			return
		}
		last = now
		terminal.Say(cmd.ErrOrStderr(), "%s", onlineLine(now))
	}
}

// onlineLine describes the progress of an online move on a single line, for example
// "copy 3/9 orders: copy the rows: 500 of about 9000 rows, 800 a second, 50 at a time".
func onlineLine(now sqlmigrate.OnlineProgress) string {
	if now.Step == "" { // the last step is done
		return fmt.Sprintf("%d of %d steps done after %s", now.Done, now.Of, terminal.Rounded(now.Elapsed))
	}
	return fmt.Sprintf("%s %d/%d", now.Stage, now.Done+1, now.Of) +
		textIf(now.Table.Name != "", " %s:", now.Table) + " " + now.Step +
		textIf(now.Rate > 0, ": %d of about %d rows, %.0f a second, %d at a time", now.Rows, now.OfRows, now.Rate, now.Batch) +
		textIf(now.Remaining >= time.Second, ", about %s to go", terminal.Span(now.Remaining)) +
		textIf(now.Waiting != "", "; waits for %s", now.Waiting)
}

// textIf returns the text of the format and args if applies is true, and "" otherwise, so that
// a line can be composed of parts that are not always there.
func textIf(applies bool, format string, args ...any) string {
	if !applies {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
