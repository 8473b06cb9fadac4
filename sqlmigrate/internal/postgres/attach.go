package postgres

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// detachDown gives the columns back what assigned their keys.
func detachDown(columns []*column) []string {
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
		if m.Node == s.Owner {
			return m
		}
	}
	return c
}

// attach gives the column back what it had, after its root has got its default.
func (c *column) attach(root *column) []string {
	if s := c.ownIdentity(); s != nil {
		return append([]string{c.alter("", s.Identity(c.Always))}, s.trimmings()...)
	}
	now := pgsql.If(root.uniform(), root.value)
	switch c.value {
	case now:
		return nil
	case "":
		return []string{c.alter("ONLY ", "DROP DEFAULT")}
	default:
		return []string{c.alter("ONLY ", "SET DEFAULT "+c.value)}
	}
}

// create creates the sequence again, as what the column's default refers to.
func (s *sequence) create(c *column) []string {
	return slices.Concat([]string{
		fmt.Sprintf("CREATE %sSEQUENCE %s AS %s %s", pgsql.If(s.Unlogged, "UNLOGGED "), s.Target(), s.Type, s.Options()),
		pgsql.Do("", ownerOf("SEQUENCE", s.Target(), c.relation.Target())), // who creates it may not be who owns the table
		fmt.Sprintf("ALTER SEQUENCE %s OWNED BY %s.%s", s.Target(), c.relation.Target(), pgsql.Quote(c.Name)),
	}, s.trimmings())
}

// trimmings are what a new sequence has not.
func (s *sequence) trimmings() []string {
	var texts []string
	switch {
	case s.Odd && s.Unlogged:
		texts = append(texts, "ALTER SEQUENCE "+s.Target()+" SET UNLOGGED")
	case s.Odd:
		texts = append(texts, "ALTER SEQUENCE "+s.Target()+" SET LOGGED")
	}
	return slices.Concat(texts, pgsql.Comment("SEQUENCE "+s.Target(), s.Comment), s.grants)
}

// follow sets the sequence to give the next key: the one that it would have
// given then, or the first in its series that is past the largest in use. Keys that
// were past it then did not keep it from giving that one, and do not now.
func (s *sequence) follow(c *column) string {
	edge, past, next := "max", ">=", s.next()
	if s.Increment < 0 {
		edge, past = "min", "<="
	}
	from, behind := next, s.isBehind(c) // from a key on, the sequence is not as it was
	if behind {
		from = s.edge(c) + s.Increment/max(s.Increment, -s.Increment)
	}
	used, of, target := fmt.Sprintf("%s(%s)", edge, pgsql.Quote(c.Name)), c.relation.Target(), pgsql.Literal(s.Target())
	switch {
	case !s.goes(): // it has continued since
		return fmt.Sprintf("SELECT pg_catalog.setval(%s, %s) FROM %s HAVING %[2]s %[4]s (SELECT last_value FROM %[5]s)", target, used, of, past, s.Target()) +
			pgsql.If(behind, fmt.Sprintf(" AND %s %s %d", used, past, from))
	case s.Increment == 1 && s.at.Called && !behind:
		return fmt.Sprintf("SELECT pg_catalog.setval(%s, greatest(%s, %d)) FROM %s", target, used, s.at.Last, of)
	}
	return fmt.Sprintf("SELECT pg_catalog.setval(%s, CASE WHEN %[2]s %[3]s %[9]d THEN %[4]d + (%[2]s - %[4]d) / %[5]d * %[5]d ELSE %[6]d END, "+
		"coalesce(%[2]s %[3]s %[9]d, false) OR %[7]t) FROM %[8]s",
		target, used, past, next, s.Increment, s.at.Last, s.at.Called, of, from)
}

// next is the key that the sequence would have given.
func (s *sequence) next() int64 {
	if s.at.Called {
		return s.at.Last + s.Increment
	}
	return s.at.Last
}

// edge is the last of the column's keys in the sequence's direction.
func (s *sequence) edge(c *column) int64 {
	if s.Increment < 0 {
		return c.keys.Smallest.Int64
	}
	return c.keys.Largest.Int64
}

// isBehind reports whether keys were past the sequence already.
func (s *sequence) isBehind(c *column) bool {
	ahead := s.edge(c) >= s.next()
	if s.Increment < 0 {
		ahead = s.edge(c) <= s.next()
	}
	return c.keys.Largest.Valid && ahead
}
