package postgres

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A recreated is what has to be dropped before a column is made narrow again,
// and then created as it was, because its expressions would not be what they
// were.
type recreated struct{ drops, creates, attaches []string }

// recreate reads the definitions, in which names have their schemas by now.
func (p *inspection) recreate(ctx context.Context) error {
	roots, ranks := map[int64]*table{}, map[int64]int{}
	for _, t := range p.tables {
		for rank, member := range t.members {
			roots[member], ranks[member] = t, rank
		}
	}
	for _, t := range p.tables { // a child's other columns can be in a table of their own
		roots[t.oid] = t
	}
	slices.SortStableFunc(p.rewritten, func(a, b expression) int { return cmp.Compare(ranks[a.table], ranks[b.table]) })
	seen := map[int64]bool{}
	for _, e := range p.rewritten {
		if seen[e.oid] {
			continue
		}
		seen[e.oid] = true
		read := p.recreateIndex
		switch e.catalog {
		case "pg_constraint":
			read = p.recreateConstraint
		case "pg_statistic_ext":
			read = p.recreateStatistics
		}
		if err := read(ctx, &roots[e.table].recreated, e.oid); err != nil {
			return err
		}
	}
	return nil
}

// recreateConstraint leaves out one that only comes from a parent: that one's
// statements reach it. One that the table has of its own too is dropped after
// its parent's, since it cannot be before.
func (p *inspection) recreateConstraint(ctx context.Context, into *recreated, oid int64) error {
	var schema, table, name, definition string
	var own bool
	err := p.tx.QueryRowContext(ctx, `
SELECT n.nspname, r.relname, c.conname, pg_get_constraintdef(c.oid), c.conislocal
FROM pg_catalog.pg_constraint c
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
WHERE c.oid = $1::bigint::oid`, oid).Scan(&schema, &table, &name, &definition, &own)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	if own {
		alter, constraint := "ALTER TABLE "+pgsql.Qualified(schema, table), pgsql.Quote(name)
		into.drops = append(into.drops, alter+" DROP CONSTRAINT "+constraint)
		into.creates = append(into.creates, alter+" ADD CONSTRAINT "+constraint+" "+definition)
	}
	return nil
}

// recreateIndex creates a partition's index separately, to keep its name, and
// attaches it to its parent, with which it was dropped.
func (p *inspection) recreateIndex(ctx context.Context, into *recreated, oid int64) error {
	var schema, name, definition, parentSchema, parent string
	err := p.tx.QueryRowContext(ctx, `
SELECT n.nspname, c.relname, pg_get_indexdef(c.oid), coalesce(pn.nspname, ''), coalesce(pc.relname, '')
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = c.oid
LEFT JOIN pg_catalog.pg_class pc ON pc.oid = h.inhparent
LEFT JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
WHERE c.oid = $1::bigint::oid`, oid).Scan(&schema, &name, &definition, &parentSchema, &parent)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	index := pgsql.Qualified(schema, name)
	into.creates = append(into.creates, definition)
	if parent == "" {
		into.drops = append(into.drops, "DROP INDEX "+index)
	} else {
		into.attaches = append(into.attaches, "ALTER INDEX "+pgsql.Qualified(parentSchema, parent)+" ATTACH PARTITION "+index)
	}
	return nil
}

func (p *inspection) recreateStatistics(ctx context.Context, into *recreated, oid int64) error {
	var schema, name, definition string
	err := p.tx.QueryRowContext(ctx, `
SELECT n.nspname, s.stxname, pg_get_statisticsobjdef(s.oid)
FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
WHERE s.oid = $1::bigint::oid`, oid).Scan(&schema, &name, &definition)
	if err != nil {
		return fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	into.drops = append(into.drops, "DROP STATISTICS "+pgsql.Qualified(schema, name))
	into.creates = append(into.creates, definition)
	return nil
}

// noTablespace comes before anything is created: the connection's would be used
// otherwise, and what has one gets it afterwards.
const noTablespace = "SET LOCAL default_tablespace = ''"

// around puts the statements around that which changes the type.
func (r *recreated) around(alter string) []string {
	creates := r.creates
	if len(creates) > 0 {
		creates = append([]string{noTablespace}, creates...)
	}
	return slices.Concat(r.drops, []string{alter}, creates, r.attaches)
}

// A constant in a SELECT has no name, which PostgreSQL writes without AS, and as
// its type: NULL::integer. Read again, that would be named after the type.
var nameless = regexp.MustCompile(`^(\s*(?:SELECT (?:DISTINCT )?)?(?:NULL|E?'(?:[^']|'')*')::([\w. ]+(?:\([\d,]+\)[\w ]*)?(?:\[\])*))((?:[,)].*)?)$`)

// keepNameless gives such constants of a definition the name that stands for none.
// A type in quotes stays as it is.
func keepNameless(definition string) string {
	lines := linesOutsideQuotes(definition)
	for i, line := range lines {
		if m := nameless.FindStringSubmatch(line); m != nil && !strings.Contains(m[2], " AS ") {
			lines[i] = m[1] + ` AS "?column?"` + m[3]
		}
	}
	return strings.Join(lines, "\n")
}

// linesOutsideQuotes cuts a text where a line ends that is not within a literal or a
// quoted name.
func linesOutsideQuotes(text string) []string {
	var lines []string
	var quote byte
	begin := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '\n':
			lines = append(lines, text[begin:i])
			begin = i + 1
		}
	}
	return append(lines, text[begin:])
}
