package postgres

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// assignedColumns returns the columns to which the database assigns keys, by a sequence,
// an identity or a default.
func (t *table) assignedColumns() []*column {
	return keepIf(t.columns, func(c *column) bool { return c.auto() != "" })
}

// auto returns how the database assigns keys to the column, or "". The columns that
// partitions and children have from it (members) count too, because a child may have a
// sequence that its parent does not have. A default that is neither a counter nor a
// constant does not assign keys, because it has another meaning, such as the tenant of
// the session. The default of a column that refers to another key does not assign keys
// either.
func (c *column) auto() string {
	for _, m := range c.members {
		switch {
		case m.Identity:
			return "identity"
		case len(m.sequences) > 0:
			return "serial"
		}
	}
	if c.Key && !c.isReference() && slices.ContainsFunc(c.members, func(m *column) bool { return m.defaultInfo.Counts || m.defaultInfo.IsConstant() }) {
		return "default"
	}
	return ""
}

// isReference reports whether the column holds keys of another column. A reference of the
// column to itself does not count.
func (c *column) isReference() bool {
	return slices.ContainsFunc(c.refers, func(to *column) bool { return to != c })
}

// refusesKeys reports whether the database refuses the keys of programs in any column of
// the table.
func (t *table) refusesKeys() bool { return len(t.strictColumns()) > 0 }

// strictColumns returns the columns, also of partitions and children, whose identity is
// GENERATED ALWAYS. Such an identity refuses the keys of programs.
func (t *table) strictColumns() []*column {
	var found []*column
	for _, c := range t.columns {
		found = append(found, keepIf(c.members, func(m *column) bool { return m.Always && m.ownIdentity() != nil })...)
	}
	return found
}

// allSequences returns the sequences of the column and of the columns below it.
func (c *column) allSequences() []*sequence {
	var found []*sequence
	for _, m := range c.members {
		for _, s := range m.sequences {
			found = engine.AppendNew(found, s)
		}
	}
	return found
}

// ownIdentity returns the sequence of an identity that was declared for this column. It
// returns nil if the column has no identity, or if it is the column of a partition that
// only has the identity of its parent.
func (c *column) ownIdentity() *sequence {
	for _, s := range c.sequences {
		if s.Internal { // it belongs to an identity
			return s
		}
	}
	return nil
}

// hasUniformDefault reports whether one statement can set the default of the column and
// of all columns below it. PostgreSQL rejects the statement if any of them is an
// identity.
func (c *column) hasUniformDefault() bool {
	return c.value != "" && !slices.ContainsFunc(c.members, func(m *column) bool { return m.Identity })
}

// droppedSequences returns the sequences that phase detach drops with the column's
// default.
func (c *column) droppedSequences() []*sequence {
	return keepIf(c.allSequences(), func(s *sequence) bool { return s.isDropped })
}

// userOf returns the column whose keys come from sequence s. That is c, the column of the
// topmost table, unless only a single partition or child uses s.
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
