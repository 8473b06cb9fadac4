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
		kind := "BY DEFAULT"
		if c.Always {
			kind = "ALWAYS"
		}
		return append([]string{
			c.alter("", fmt.Sprintf("ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)", kind, s.Target(), s.Options())),
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

// create creates the sequence again, as what the column's default refers to.
func (s *sequence) create(c *column) []string {
	unlogged := ""
	if s.Unlogged {
		unlogged = "UNLOGGED "
	}
	return slices.Concat([]string{
		fmt.Sprintf("CREATE %sSEQUENCE %s AS %s %s", unlogged, s.Target(), s.Type, s.Options()),
		doBlock(ownerOf("SEQUENCE", s.Target(), c.relation.Target())), // who creates it may not be who owns the table
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
	if s.Comment.Valid {
		texts = append(texts, fmt.Sprintf("COMMENT ON SEQUENCE %s IS %s", s.Target(), pgsql.Literal(s.Comment.String)))
	}
	return append(texts, s.grants...)
}

// follow sets the sequence to give the next key: the one that it would have
// given then, or the first in its series that is past the largest in use.
func (s *sequence) follow(c *column) string {
	column, from := pgsql.Quote(c.Name), c.relation.Target()
	if !s.goes() { // it has continued since
		return s.catchUp(column, from)
	}
	if s.Increment == 1 && s.called {
		return fmt.Sprintf("SELECT pg_catalog.setval(%s, greatest(max(%s), %d)) FROM %s", pgsql.Literal(s.Target()), column, s.last, from)
	}
	next := s.last
	if s.called {
		next += s.Increment
	}
	edge, past := "max", ">="
	if s.Increment < 0 {
		edge, past = "min", "<="
	}
	used := fmt.Sprintf("%s(%s)", edge, column)
	return fmt.Sprintf("SELECT pg_catalog.setval(%s, CASE WHEN %[2]s %[3]s %[4]d THEN %[4]d + (%[2]s - %[4]d) / %[5]d * %[5]d ELSE %[6]d END, "+
		"coalesce(%[2]s %[3]s %[4]d, false) OR %[7]t) FROM %[8]s",
		pgsql.Literal(s.Target()), used, past, next, s.Increment, s.last, s.called, from)
}

func (s *sequence) catchUp(column, from string) string {
	edge, past := "max", ">="
	if s.Increment < 0 {
		edge, past = "min", "<="
	}
	return fmt.Sprintf("SELECT pg_catalog.setval(%s, %s) FROM %s HAVING %[2]s %[4]s (SELECT last_value FROM %[5]s)",
		pgsql.Literal(s.Target()), edge+"("+column+")", from, past, s.Target())
}
