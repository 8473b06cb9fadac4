package postgres

import (
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// assignedColumns returns the columns of the table to which the database assigns keys, by a
// sequence, an identity or a default.
func (t *table) assignedColumns() []*column {
	return keepIf(t.columns, func(c *column) bool { return c.auto() != "" })
}

// auto returns how the database assigns keys to the column. The result is "identity",
// "serial" if a sequence gives the keys, "default" if another default gives them, or "" if
// the database does not assign keys.
//
// The result is "default" only for a key that does not refer to another key. The default
// must give another number to each row, as random() does, or be a constant such as 0, which
// would be the key of a row without a key. Any other default, such as
// current_setting('app.tenant'), has another meaning, and does not assign keys.
//
// The columns that partitions and children inherit from the column (members) count too,
// because a child may have a sequence that its parent does not have.
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

// refusesKeys reports whether a column of the table, or of its partitions and children, is
// an identity that is GENERATED ALWAYS, so that the database refuses keys that programs
// insert.
func (t *table) refusesKeys() bool { return len(t.strictColumns()) > 0 }

// strictColumns returns the columns whose identity is GENERATED ALWAYS, so that the
// database refuses keys that programs insert. It includes the columns of partitions and
// children that have an identity of their own.
func (t *table) strictColumns() []*column {
	var found []*column
	for _, c := range t.columns {
		found = append(found, keepIf(c.members, func(m *column) bool { return m.Always && m.ownIdentity() != nil })...)
	}
	return found
}

// allSequences returns the sequences that give values to the column, or to a column that a
// partition or child inherits from it. Each sequence is listed once.
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

// hasUniformDefault reports whether the column has a default that a single ALTER TABLE can
// drop or set, together with the defaults of the columns that partitions and children
// inherit from it. PostgreSQL rejects this statement if any of these columns is an
// identity.
func (c *column) hasUniformDefault() bool {
	return c.value != "" && !slices.ContainsFunc(c.members, func(m *column) bool { return m.Identity })
}

// droppedSequences returns the sequences of the column that phase detach drops together
// with the column's default.
func (c *column) droppedSequences() []*sequence {
	return keepIf(c.allSequences(), func(s *sequence) bool { return s.isDropped })
}

// userOf returns the column whose largest key shows how far sequence s has come. The members
// of c are c itself and the columns that partitions and children inherit from it. If a single
// member uses s, userOf returns this member. Otherwise it returns c, because a query on c
// also reads the rows of partitions and children.
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
