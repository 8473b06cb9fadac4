package run

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A task is a statement with its table and step. A check has no table, because it does
// not change a table.
type task struct {
	table     plan.TableName
	step      string
	statement plan.Statement
}

// A Transaction holds the tasks of successive steps that run in one transaction, if the
// database has transactions for them. up has the statements that apply the steps, check the
// queries that fail if the steps cannot be taken back, and down the statements that take them
// back.
type Transaction struct{ up, check, down []task }

// Transactions returns the transactions of a phase, in order. Successive steps with the
// same [plan.Step.Transaction] number share a transaction.
func Transactions(p *plan.Phase) []Transaction {
	var found []Transaction
	for i, step := range p.Steps {
		if i == 0 || step.Transaction != p.Steps[i-1].Transaction {
			found = append(found, Transaction{})
		}
		t := &found[len(found)-1]
		t.up = append(t.up, tasksFor(step.Table, step.Text, step.Up)...)
		t.check = append(t.check, tasksForChecks(step.Check)...)
		// The last step is taken back first.
		t.down = slices.Concat(tasksFor(step.Table, "take back: "+step.Text, step.Down), t.down)
	}
	if len(found) > 0 { // the last transaction is taken back first, so the checks of the phase precede all other work
		last := &found[len(found)-1]
		last.check = slices.Concat(tasksForChecks(p.Check), last.check)
	}
	return found
}

// Up returns the statements that apply the transaction.
func (t Transaction) Up() []plan.Statement { return statementsOf(t.upTasks()) }

// Down returns the statements that take the transaction back. The checks come first.
func (t Transaction) Down() []plan.Statement { return statementsOf(t.downTasks()) }

// upTasks returns the tasks that apply the transaction.
func (t Transaction) upTasks() []task { return t.up }

// checkTasks returns the tasks that check whether the transaction can be taken back.
func (t Transaction) checkTasks() []task { return t.check }

// downTasks returns the tasks that take the transaction back, with the checks before them.
// It returns no checks if there is nothing to take back.
func (t Transaction) downTasks() []task {
	if len(t.down) == 0 {
		return nil
	}
	return slices.Concat(t.check, t.down)
}

// backwards returns the transactions of a phase in the order in which they are taken
// back.
func backwards(p *plan.Phase) []Transaction {
	found := Transactions(p)
	slices.Reverse(found)
	return found
}

// tasksFor returns a task for each statement of a step, which has this table and text.
func tasksFor(table plan.TableName, text string, statements []plan.Statement) []task {
	return engine.Converted(statements, func(s plan.Statement) task { return task{table, text, s} })
}

// tasksForChecks returns a task for each statement that checks whether a phase can be
// taken back.
func tasksForChecks(statements []plan.Statement) []task {
	return tasksFor(plan.TableName{}, "check whether the phase can be taken back", statements)
}

// statementsOf returns the statements of tasks.
func statementsOf(tasks []task) []plan.Statement {
	return engine.Converted(tasks, func(t task) plan.Statement { return t.statement })
}

// countChanges counts the tasks that are not checks.
func countChanges(tasks []task) int {
	n := 0
	for _, t := range tasks {
		if t.table.Name != "" { // a check has no table
			n++
		}
	}
	return n
}
