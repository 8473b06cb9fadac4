package postgres

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

const catalogLocks = "ACCESS EXCLUSIVE on %s for a moment"

// detach plans that the database assigns no more keys. Those from issued on are
// taken for Snowflake IDs, with which it cannot be taken back.
func detach(g *graph, issued int64, locks int) (plan.Phase, engine.Findings) {
	phase := plan.Phase{Name: plan.Detach, Transaction: true}
	assigned := keepIf(g.tables, func(t *table) bool { return len(t.assignedColumns()) > 0 })
	found := g.change(&phase, assigned, accessExclusive, locks, func(t *table) plan.Step { return detachStep(t, issued) })
	return phase, found
}

func detachStep(t *table, issued int64) plan.Step {
	columns := t.assignedColumns()
	assigned := has(assignedMembers(columns), "(attidentity <> '' OR atthasdef)")
	return plan.Step{
		Table: t.Display,
		Text:  "the database assigns " + namesOf(columns) + " no more",
		Up:    engine.Statements("SELECT NOT "+assigned, detachUp(t, columns)...),
		Down:  engine.Statements("SELECT "+assigned, detachDown(columns)...),
		Check: engine.Statements("", detachCheck(columns, issued)),
		Locks: fmt.Sprintf(catalogLocks, t.Display),
	}
}

// assignedMembers are those to which the database gives values, here or below.
func assignedMembers(columns []*column) []*column {
	var found []*column
	for _, c := range columns {
		for _, m := range c.members {
			if m.Identity || m.value != "" {
				found = append(found, m)
			}
		}
	}
	return found
}

func detachUp(t *table, columns []*column) []string {
	var commands, others, sequences []string
	for _, c := range columns {
		switch {
		case c.uniform():
			commands = append(commands, "ALTER COLUMN "+pgsql.Quote(c.Name)+" DROP DEFAULT")
		case c.ownIdentity() != nil:
			commands = append(commands, "ALTER COLUMN "+pgsql.Quote(c.Name)+" DROP IDENTITY")
		}
		for _, m := range c.members {
			switch {
			case m.ownIdentity() != nil && m != c:
				others = append(others, m.alter("", "DROP IDENTITY"))
			case m.value != "" && !c.uniform():
				others = append(others, m.alter("ONLY ", "DROP DEFAULT"))
			}
		}
		for _, s := range c.dropped() {
			sequences = append(sequences, s.Target())
		}
	}
	var texts []string
	if len(commands) > 0 {
		texts = append(texts, "ALTER TABLE "+t.Target()+" "+strings.Join(commands, ", "))
	}
	texts = append(texts, others...)
	if len(sequences) > 0 {
		texts = append(texts, "DROP SEQUENCE "+strings.Join(sequences, ", "))
	}
	return texts
}

// detachCheck is for keys from which the database must not continue, as they
// are issued too, and for sequences that would have no next key to give.
func detachCheck(columns []*column, issued int64) string {
	var rejections []string
	for _, c := range columns {
		rejections = append(rejections, rejectIf(
			fmt.Sprintf("SELECT FROM %s WHERE %s >= %d", c.relation.Target(), pgsql.Quote(c.Name), issued),
			fmt.Sprintf("sqlmigrate: column %s of table %s has Snowflake IDs, from which the database would continue: want all below %d before it is taken back",
				c.Name, c.relation.Display, issued)))
		for _, s := range c.allSequences() {
			if s.Increment < 0 || s.EndsWithType() && (s.Internal || s.Type == "bigint") {
				continue
			}
			m := c.userOf(s)
			rejections = append(rejections, rejectIf(
				fmt.Sprintf("SELECT FROM %s WHERE %s >= %d", m.relation.Target(), pgsql.Quote(m.Name), s.Largest),
				fmt.Sprintf("sqlmigrate: column %s of table %s holds keys from which sequence %s cannot continue: want all below %d before it is taken back",
					m.Name, m.relation.Display, s.Display, s.Largest)))
		}
	}
	return checkAll(rejections)
}
