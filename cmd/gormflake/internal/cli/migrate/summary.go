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

// tablesOf returns the names of the tables that the plan changes, each once, in the order of
// its steps.
func tablesOf(plan *sqlmigrate.Plan) []string {
	var names []string
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			if name := step.Table.String(); !slices.Contains(internalTables, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// internalTables are the tables that package sqlmigrate creates on MySQL to resume and to
// revert a plan. The user does not know them, so they are not shown as tables of the
// plan.
var internalTables = []string{"sqlmigrate_journal", "sqlmigrate_counters"}

// countStatements counts the statements of the plan that apply or revert runs. statementsOf
// is upStatements for apply, and downStatements for revert.
func countStatements(plan *sqlmigrate.Plan, statementsOf func(sqlmigrate.Step) []sqlmigrate.Statement) int {
	n := 0
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			n += len(statementsOf(step))
		}
	}
	return n
}

// upStatements returns the statements of a step that apply runs to make its change.
func upStatements(s sqlmigrate.Step) []sqlmigrate.Statement { return s.Up }

// downStatements returns the statements of a step that revert runs to take its change back.
func downStatements(s sqlmigrate.Step) []sqlmigrate.Statement { return s.Down }

// theseStatements returns words for n statements in a question, such as "these 3
// statements".
func theseStatements(n int) string {
	if n == 1 {
		return "this statement"
	}
	return fmt.Sprintf("these %d statements", n)
}

// mostSteps is the largest number of steps of a phase that summarize prints.
const mostSteps = 20

// summarize prints the steps of the plan, and what each locks, without SQL. Of a phase with
// more steps than mostSteps, it prints the first mostSteps.
func summarize(out io.Writer, plan *sqlmigrate.Plan) {
	for _, phase := range plan.Phases {
		terminal.Say(out, "%s", phase.Name)
		for _, step := range phase.Steps[:min(len(phase.Steps), mostSteps)] {
			terminal.Say(out, "  %s: %s", step.Table, step.Text)
			if step.Locks != "" {
				terminal.Say(out, "    locks: %s", step.Locks)
			}
		}
		if rest := len(phase.Steps) - mostSteps; rest > 0 {
			terminal.Say(out, "  and %s: see \"gormflake migrate plan --details\"", terminal.Counted(rest, "step", "steps"))
		}
	}
}

// summarizeBack prints the statements with which revert takes the plan back, in the order in
// which they run: the last phase and the last step of a phase come first.
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
