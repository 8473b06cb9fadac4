package run

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A task is a statement, and the table and step that it belongs to. A check has no
// table, because it changes none.
type task struct {
	table     plan.TableName
	step      string
	statement plan.Statement
}

// A Transaction is successive steps of a phase, where the database has transactions for
// them.
type Transaction struct{ up, check, down []task }

// Transactions returns those of a phase, in order.
func Transactions(p *plan.Phase) []Transaction {
	var found []Transaction
	for i, step := range p.Steps {
		if i == 0 || step.Transaction != p.Steps[i-1].Transaction {
			found = append(found, Transaction{})
		}
		t := &found[len(found)-1]
		t.up = append(t.up, tasksFor(step.Table, step.Text, step.Up)...)
		t.check = append(t.check, checks(step.Check)...)
		t.down = slices.Concat(tasksFor(step.Table, "take back: "+step.Text, step.Down), t.down)
	}
	if len(found) > 0 { // the phase's blockers come before anything is taken back
		last := &found[len(found)-1]
		last.check = slices.Concat(checks(p.Check), last.check)
	}
	return found
}

// Up returns the statements that carry the transaction out.
func (t Transaction) Up() []plan.Statement { return statementsOf(t.upward()) }

// Down returns the statements that take the transaction back, after those that check
// whether it can be.
func (t Transaction) Down() []plan.Statement { return statementsOf(t.downward()) }

func (t Transaction) upward() []task   { return t.up }
func (t Transaction) checking() []task { return t.check }

// downward has nothing to check for steps that nothing takes back.
func (t Transaction) downward() []task {
	if len(t.down) == 0 {
		return nil
	}
	return slices.Concat(t.check, t.down)
}

// backwards returns the transactions in the order in which they are taken back.
func backwards(p *plan.Phase) []Transaction {
	found := Transactions(p)
	slices.Reverse(found)
	return found
}

func tasksFor(table plan.TableName, text string, statements []plan.Statement) []task {
	return engine.Converted(statements, func(s plan.Statement) task { return task{table, text, s} })
}

func checks(statements []plan.Statement) []task {
	return tasksFor(plan.TableName{}, "check whether the phase can be taken back", statements)
}

func statementsOf(tasks []task) []plan.Statement {
	return engine.Converted(tasks, func(t task) plan.Statement { return t.statement })
}

// changes counts the statements that are not checks.
func changes(tasks []task) int {
	n := 0
	for _, t := range tasks {
		if t.table.Name != "" {
			n++
		}
	}
	return n
}
