package sqlmigrate

import "slices"

// A task is a statement and what it belongs to.
type task struct {
	table, step string
	statement   Statement
}

// A transaction is successive steps of a phase, where the database has
// transactions for them.
type transaction struct{ up, check, down []task }

func (t transaction) upward() []task   { return t.up }
func (t transaction) checking() []task { return t.check }

// downward has nothing to check for steps that nothing takes back.
func (t transaction) downward() []task {
	if len(t.down) == 0 {
		return nil
	}
	return slices.Concat(t.check, t.down)
}

// transactionsOf a phase, in order.
func transactionsOf(p *Phase) []transaction {
	var found []transaction
	for i, step := range p.Steps {
		if i == 0 || step.Transaction != p.Steps[i-1].Transaction {
			found = append(found, transaction{})
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

// backwards are the transactions as they are taken back.
func backwards(p *Phase) []transaction {
	found := transactionsOf(p)
	slices.Reverse(found)
	return found
}

func tasksFor(table, text string, statements []Statement) []task {
	return converted(statements, func(s Statement) task { return task{table, text, s} })
}

// checks have no table, because they change none.
func checks(statements []Statement) []task {
	return tasksFor("", "check whether the phase can be taken back", statements)
}

func statementsOf(tasks []task) []Statement {
	return converted(tasks, func(t task) Statement { return t.statement })
}
