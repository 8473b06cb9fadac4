package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

const catalogLocks = "ACCESS EXCLUSIVE on %s for a moment"

// detach plans that the database assigns no more keys.
func (p *inspection) detach() engine.Phase {
	phase := engine.Phase{Name: engine.Detach}
	tables := slices.DeleteFunc(slices.Clone(p.tables), func(t *table) bool { return len(t.auto()) == 0 })
	for i, batch := range p.batches(engine.Detach, tables) {
		steps := make([]engine.Step, len(batch))
		for j, t := range batch {
			steps[j] = p.detachStep(t)
			steps[j].Transaction = i
		}
		p.lockFirst(steps, allOf(batch, accessExclusive))
		phase.Steps = append(phase.Steps, steps...)
	}
	return phase
}

// auto are the columns that the database assigns.
func (t *table) auto() []*column {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.auto() == "" })
}

func (p *inspection) detachStep(t *table) engine.Step {
	columns := t.auto()
	assigned := has(assignedColumns(columns), "(attidentity <> '' OR atthasdef)")
	return engine.Step{
		Table: p.display(t.schema, t.name),
		Text:  "the database assigns " + join(columns, func(c *column) string { return c.name }) + " no more",
		Up:    statementsUnless("SELECT NOT "+assigned, t.detachUp(columns)...),
		Down:  statementsUnless("SELECT "+assigned, t.detachDown(columns)...),
		Check: statementsUnless("", p.detachCheck(columns)),
		Locks: fmt.Sprintf(catalogLocks, p.display(t.schema, t.name)),
	}
}

// assignedColumns are those to which the database gives values, here or below.
func assignedColumns(columns []*column) []*column {
	var found []*column
	for _, c := range columns {
		for _, m := range c.members {
			if m.identity || m.value != "" {
				found = append(found, m)
			}
		}
	}
	return found
}

// ownIdentity is the sequence of an identity that was declared for this column.
// A partition can have its parent's, and none of its own.
func (c *column) ownIdentity() *sequence {
	for _, s := range c.sequences {
		if s.internal {
			return s
		}
	}
	return nil
}

// uniform reports whether a default can be set for the column and all below it
// at once: that is an error where there is an identity.
func (c *column) uniform() bool {
	return c.value != "" && !slices.ContainsFunc(c.members, func(m *column) bool { return m.identity })
}

func (c *column) alter(only, command string) string {
	return "ALTER TABLE " + only + c.target() + " ALTER COLUMN " + pgsql.Quote(c.name) + " " + command
}

// dropped are the sequences that go with the column.
func (c *column) dropped() []*sequence {
	return slices.DeleteFunc(c.allSequences(), func(s *sequence) bool { return !s.drop })
}

// allSequences are the column's and those below it.
func (c *column) allSequences() []*sequence {
	var found []*sequence
	for _, m := range c.members {
		for _, s := range m.sequences {
			if !slices.Contains(found, s) {
				found = append(found, s)
			}
		}
	}
	return found
}

// userOf is the column whose keys come from s: the topmost one, unless s serves
// a single partition or child.
func (c *column) userOf(s *sequence) *column {
	var users []*column
	for _, m := range c.members {
		if slices.Contains(m.sequences, s) {
			users = append(users, m)
		}
	}
	if len(users) == 1 {
		return users[0]
	}
	return c
}

func (t *table) detachUp(columns []*column) []string {
	var commands, others, sequences []string
	for _, c := range columns {
		switch {
		case c.uniform():
			commands = append(commands, "ALTER COLUMN "+pgsql.Quote(c.name)+" DROP DEFAULT")
		case c.ownIdentity() != nil:
			commands = append(commands, "ALTER COLUMN "+pgsql.Quote(c.name)+" DROP IDENTITY")
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
			sequences = append(sequences, s.target())
		}
	}
	var texts []string
	if len(commands) > 0 {
		texts = append(texts, "ALTER TABLE "+t.target()+" "+strings.Join(commands, ", "))
	}
	texts = append(texts, others...)
	if len(sequences) > 0 {
		texts = append(texts, "DROP SEQUENCE "+strings.Join(sequences, ", "))
	}
	return texts
}

func (t *table) detachDown(columns []*column) []string {
	var creates, defaults, follows []string
	for _, c := range columns {
		for _, s := range c.dropped() {
			creates = append(creates, s.create(c.ownerOf(s))...)
		}
		if c.uniform() {
			defaults = append(defaults, c.alter("", "SET DEFAULT "+c.value))
		}
		for _, m := range c.members {
			defaults = append(defaults, m.attach(c)...)
		}
		for _, s := range c.allSequences() {
			follows = append(follows, s.follow(c.userOf(s)))
		}
	}
	return slices.Concat(creates, defaults, follows)
}

func (c *column) ownerOf(s *sequence) *column {
	for _, m := range c.members {
		if m.node == (node{s.ownedTable, s.ownedColumn}) {
			return m
		}
	}
	return c
}

// attach gives the column back what it had, after its root has got its default.
func (c *column) attach(root *column) []string {
	if s := c.ownIdentity(); s != nil {
		kind := "BY DEFAULT"
		if c.always {
			kind = "ALWAYS"
		}
		return append([]string{
			c.alter("", fmt.Sprintf("ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)", kind, s.target(), s.Options())),
		}, s.trimmings()...)
	}
	now := ""
	if root.uniform() {
		now = root.value
	}
	switch c.value {
	case now:
		return nil
	case "":
		return []string{c.alter("ONLY ", "DROP DEFAULT")}
	default:
		return []string{c.alter("ONLY ", "SET DEFAULT "+c.value)}
	}
}

// detachCheck is for keys from which the database must not continue, as they
// are issued too, and for sequences that would have no next key to give.
func (p *inspection) detachCheck(columns []*column) string {
	var rejections []string
	for _, c := range columns {
		rejections = append(rejections, rejectIf(
			fmt.Sprintf("SELECT FROM %s WHERE %s >= %d", c.target(), pgsql.Quote(c.name), p.want.Issued),
			fmt.Sprintf("sqlmigrate: column %s of table %s has Snowflake IDs, from which the database would continue: want all below %d before it is taken back",
				c.name, p.display(c.schema, c.table), p.want.Issued)))
		for _, s := range c.allSequences() {
			if s.Increment < 0 || s.EndsWithType() && (s.internal || s.Type == "bigint") {
				continue
			}
			m := c.userOf(s)
			rejections = append(rejections, rejectIf(
				fmt.Sprintf("SELECT FROM %s WHERE %s >= %d", m.target(), pgsql.Quote(m.name), s.Largest),
				fmt.Sprintf("sqlmigrate: column %s of table %s holds keys from which sequence %s cannot continue: want all below %d before it is taken back",
					m.name, p.display(m.schema, m.table), p.display(s.schema, s.name), s.Largest)))
		}
	}
	return checkAll(rejections)
}
