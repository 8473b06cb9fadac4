package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// functionsSQL finds functions whose text the server does not understand
// before they run: those that name one of the tables or are its triggers, and
// use integers.
const functionsSQL = `
WITH name (name) AS MATERIALIZED (
  SELECT lower(name) FROM json_array_elements_text($1::text::json) AS name
)
SELECT DISTINCT pg_describe_object('pg_catalog.pg_proc'::regclass, f.oid, 0)
FROM pg_catalog.pg_proc f
JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_'
  AND l.lanname NOT IN ('c', 'internal')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                  WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
  AND (EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgfoid = f.oid AND t.tgrelid = ANY ($2::text::oid[]))
       OR EXISTS (SELECT FROM name WHERE position(name IN lower(f.prosrc)) > 0))
  AND (f.prosrc ~* $3::text
       OR f.prorettype = ANY ($4::text::oid[])
       OR coalesce(f.proallargtypes, f.proargtypes::oid[]) && $4::text::oid[])
ORDER BY 1`

const (
	integerWords = `\m(smallint|integer|int[24]?)\M`
	anyText      = `.`
)

// The OIDs of smallint and integer and of their arrays are fixed.
const integerOIDs = "{21,23,1005,1007}"

func (p *inspection) functions(ctx context.Context, names []string, tables []int64, pattern string) ([]string, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: inspect: %w", err)
	}
	var found []string
	err = each(ctx, p.tx, functionsSQL, []any{string(list), arrayLiteral(tables), pattern, integerOIDs}, func(rows *sql.Rows) error {
		var object string
		if err := rows.Scan(&object); err != nil {
			return err
		}
		found = append(found, object)
		return nil
	})
	return found, err
}

func (p *inspection) noteFunctions(ctx context.Context) error {
	names := []string{}
	var tables []int64
	for _, t := range p.tables {
		if len(t.narrow()) > 0 {
			names, tables = append(names, t.name), append(tables, t.members...)
		}
	}
	found, err := p.functions(ctx, names, tables, integerWords)
	if len(found) > 0 {
		p.note("These use a table to be widened, and integers; see that they can do with a bigint, because PostgreSQL only finds out when they run: %s.",
			strings.Join(found, ", "))
	}
	return err
}

// noteSequenceFunctions is about sequences that functions name in their text.
func (p *inspection) noteSequenceFunctions(ctx context.Context) error {
	var gone []*sequence
	names := []string{}
	for _, t := range p.tables {
		for _, c := range t.columns {
			for _, s := range c.allSequences() {
				if s.drop || s.internal {
					gone, names = append(gone, s), append(names, s.name)
				}
			}
		}
	}
	all, err := p.functions(ctx, names, nil, anyText)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, s := range gone {
		found, err := p.functions(ctx, []string{s.name}, nil, anyText)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			p.note("Sequence %s goes in phase detach, and is named in the text of %s.", p.display(s.schema, s.name), strings.Join(found, ", "))
		}
	}
	return nil
}

// notePublications is about replicas that apply rows by column.
func (p *inspection) notePublications(ctx context.Context) error {
	for _, t := range p.tables {
		if len(t.narrow()) == 0 {
			continue
		}
		var names []string
		err := each(ctx, p.tx, `SELECT pubname FROM pg_catalog.pg_publication_tables WHERE schemaname = $1::text AND tablename = $2::text ORDER BY pubname`,
			[]any{t.schema, t.name}, func(rows *sql.Rows) error {
				var name string
				if err := rows.Scan(&name); err != nil {
					return err
				}
				names = append(names, name)
				return nil
			})
		if err != nil {
			return err
		}
		if len(names) > 0 {
			p.note("Table %s is in publication %s: widen the columns of the subscribers first.", p.display(t.schema, t.name), strings.Join(names, ", "))
		}
	}
	return nil
}

// notes are about what has been found.
func (p *inspection) notes() {
	for _, t := range p.tables {
		table := p.display(t.schema, t.name)
		for _, c := range t.columns {
			p.noteColumn(table, c)
		}
		if len(t.columns) > 0 && !t.columns[0].owned && (len(t.narrow()) > 0 || len(t.checks) > 0 || t.assigned()) {
			p.note("Role %s may not change table %s: apply the plan as %s, who owns it.", p.role, table, t.columns[0].owner)
		}
		if t.assigned() && !p.asked[t.oid] && !p.askedBelow(t) {
			p.note("Table %s was not asked for, but its keys are connected with those that were: its programs have to bring their own keys too.", table)
		}
	}
	if len(p.plan.Phases) > 0 && p.plan.Phases[0].Name == engine.Widen {
		p.note("After phase widen, connections with prepared statements fail once for each of them, with “cached plan must not change result type” or a value that is too large for int4: restart the programs, or let their pools open new connections.")
		p.note("PostgreSQL forgets the planner's statistics of a column whose type changes, and a rewrite does not make autovacuum gather new ones: after phase widen, and after it is taken back, run ANALYZE on its tables.")
	}
}

func (t *table) assigned() bool {
	for _, c := range t.columns {
		if c.auto() != "" {
			return true
		}
	}
	return false
}

// askedBelow reports whether a partition or a child was asked for.
func (p *inspection) askedBelow(t *table) bool {
	for _, member := range t.members {
		if p.asked[member] {
			return true
		}
	}
	return false
}

func (p *inspection) noteColumn(table string, c *column) {
	for _, m := range c.members {
		if m.always && m.ownIdentity() != nil {
			p.note("Column %s of table %s is GENERATED ALWAYS: until phase detach, the database refuses keys that a program brings.",
				c.name, p.display(m.schema, m.table))
		}
	}
	for _, s := range c.allSequences() {
		p.noteSequence(table, c, s)
	}
}

func (p *inspection) noteSequence(table string, c *column, s *sequence) {
	name := p.display(s.schema, s.name)
	switch {
	case s.internal && len(s.others) > 0:
		p.blocker(table, strings.Join(s.others, ", "),
			"it uses sequence "+name+", which goes with the identity of column "+c.name, "give it a sequence of its own")
	case s.internal || s.drop:
	case len(s.others) > 0:
		p.note("Sequence %s of column %s of table %s stays: it is used by %s.", name, c.name, table, strings.Join(s.others, ", "))
	default:
		p.note("Sequence %s of column %s of table %s stays: no column owns it.", name, c.name, table)
	}
}
