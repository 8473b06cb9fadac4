package sqlmigrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// String returns the plan for review: the blockers, and for each stage its statements in
// order with the locks of each step. Lines are wrapped at the same width as in
// [Plan.String]; SQL is not wrapped.
func (o *OnlinePlan) String() string {
	const details = true // name every object, also if there are many of a kind
	out := page{width: pageWidth}
	out.line(0, o.headline())
	out.obstacles("Blocked by", blockersOf(blockingObjects(o.Blockers)), details)
	for _, stage := range o.Stages {
		out.line(0, fmt.Sprintf("\nStage %s: %s", stage.Name, stage.Text))
		out.onlineSteps(stage.Steps)
	}
	out.notes("Notes", engine.Converted(o.Notes, func(text string) engine.Note { return engine.Note{Text: text} }), details)
	return out.String()
}

// WayBack returns the steps of Revert as text, in the same format as String. Revert begins
// with the steps that are listed for the stage that the move has reached, even if that
// stage is not complete. It continues with the steps of the stages before it.
func (o *OnlinePlan) WayBack() string {
	out := page{width: pageWidth}
	for _, stage := range slices.Backward(o.Stages) {
		if len(stage.Back) > 0 {
			out.line(0, fmt.Sprintf("\nBack from stage %s: %s", stage.Name, engine.Count(len(stage.Back), "step")))
			out.onlineSteps(stage.Back)
		}
	}
	return strings.TrimPrefix(out.String(), "\n")
}

// headline returns the first line of the text, which describes the whole plan, for example
// "postgres: 2 tables online, about 1.5 h, 2.0 GB on disk and 3.0 GB of log until the last
// stage".
func (o *OnlinePlan) headline() string {
	start := fmt.Sprintf("%s: %s online", o.Dialect, engine.Count(len(o.Tables), "table"))
	switch {
	case len(o.Blockers) > 0:
		return start + ", " + engine.Count(len(o.Blockers), "blocker") + ": nothing will be changed"
	case o.Empty():
		return start + ", nothing to do"
	}
	took, disk, log := o.Estimate()
	return fmt.Sprintf("%s, %s, %s on disk and %s of log until the last stage", start, duration(took), size(disk), size(log))
}

// onlineSteps prints each step with its kind, its locks and its SQL, which is not
// wrapped.
func (out *page) onlineSteps(steps []OnlineStep) {
	for _, s := range steps {
		text := s.Text
		if s.Table.Name != "" {
			text = s.Table.String() + ": " + text
		}
		out.line(2, text)
		out.line(4, kindOf(&s)+"; locks: "+s.Locks)
		for _, statement := range s.SQL {
			for line := range strings.SplitSeq(statement+";", "\n") {
				out.row("      " + line)
			}
		}
	}
}

// kindOf returns a text about how the step runs, how much it reads or writes, and how long
// it takes, for example "in batches, 2,000 rows, 1.5 MB, about 1.0 s". For a Short step the
// text is only "for a moment".
func kindOf(s *OnlineStep) string {
	amount := volume(s.Rows, s.Bytes) + ", " + duration(s.Estimate)
	switch s.Kind {
	case plan.Short:
		return "for a moment"
	case plan.Batches:
		return "in batches, " + amount
	default:
		return amount
	}
}
