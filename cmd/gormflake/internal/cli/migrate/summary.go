package migrate

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// phasesOf returns the names of the phases of the plan.
func phasesOf(plan *sqlmigrate.Plan) []string {
	names := make([]string, len(plan.Phases))
	for i, phase := range plan.Phases {
		names[i] = string(phase.Name)
	}
	return names
}

// tablesOf returns the names of the tables that the plan changes, in its order.
func tablesOf(plan *sqlmigrate.Plan) []string {
	var names []string
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			if name := step.Table.String(); !slices.Contains(own, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// own are tables of the moves themselves on MySQL, which are not counted as tables of a
// plan.
var own = []string{"sqlmigrate_journal", "sqlmigrate_counters"}

// statements returns the number of statements that change something.
func statements(plan *sqlmigrate.Plan, of func(sqlmigrate.Step) []sqlmigrate.Statement) int {
	n := 0
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			n += len(of(step))
		}
	}
	return n
}

func upward(s sqlmigrate.Step) []sqlmigrate.Statement { return s.Up }

func downward(s sqlmigrate.Step) []sqlmigrate.Statement { return s.Down }

// these returns the number of statements in words for a question.
func these(n int) string {
	if n == 1 {
		return "this statement"
	}
	return fmt.Sprintf("these %d statements", n)
}

// summarize prints the steps of the plan without their SQL.
func summarize(out io.Writer, plan *sqlmigrate.Plan) {
	for _, phase := range plan.Phases {
		terminal.Say(out, "%s", phase.Name)
		for _, step := range phase.Steps {
			terminal.Say(out, "  %s: %s", step.Table, step.Text)
			if step.Locks != "" {
				terminal.Say(out, "    locks: %s", step.Locks)
			}
		}
	}
}

// summarizeBack prints the statements of the way back in their order.
func summarizeBack(out io.Writer, plan *sqlmigrate.Plan) {
	for _, phase := range slices.Backward(plan.Phases) {
		for _, step := range slices.Backward(phase.Steps) {
			terminal.Say(out, "to take back phase %s of %s:", phase.Name, step.Table)
			for _, statement := range step.Down {
				terminal.Say(out, "  %s", strings.ReplaceAll(statement.SQL, "\n", "\n  "))
			}
		}
	}
}
