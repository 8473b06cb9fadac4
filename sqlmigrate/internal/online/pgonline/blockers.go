package pgonline

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// findBlockers finds what would not survive the move: what stays on the old column
// in silence, and what PostgreSQL does not do without long locks.
func (p *inspection) findBlockers(ctx context.Context) error {
	for _, t := range p.everyTable() {
		p.blockTable(t)
	}
	for _, t := range p.tables {
		for _, c := range t.columns {
			p.blockColumn(t, c)
		}
		for _, i := range t.indexes {
			p.blockIndex(t, i)
		}
		for _, g := range t.triggers {
			p.blockTrigger(t, g)
		}
		if err := p.blockDependents(ctx, t); err != nil {
			return err
		}
		if err := p.blockRules(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// everyTable are those with columns to be widened, and those at the other end of
// a foreign key.
func (p *inspection) everyTable() []*table {
	all := append([]*table{}, p.tables...)
	for _, k := range p.keys {
		for _, t := range []*table{k.child, k.parent} {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all
}

func (p *inspection) blockTable(t *table) {
	object := "table " + t.name
	const offline = "apply phase widen instead, with its locks"
	if t.kind == "p" || t.partition {
		p.blocker(t, object, "it is partitioned, or a partition: PostgreSQL has no CONCURRENTLY, USING INDEX and NOT VALID there", offline)
	} else if t.inherits {
		p.blocker(t, object, "it inherits from a table, or a table from it", offline)
	}
	if t.typed {
		p.blocker(t, object, "it is a table of a composite type, and gets no other columns", "ALTER TABLE … NOT OF")
	}
	if t.kind != "r" && t.kind != "p" {
		p.blocker(t, object, "it is not an ordinary table", "leave it out")
	}
	if !t.owned {
		p.blocker(t, object, "role "+p.role+" may not change it", "do this as "+t.owner+", who owns it")
	}
	if t.owned && !t.create && len(t.columns) > 0 {
		p.blocker(t, "schema "+t.schema, "role "+p.role+" may not create the function of a trigger in it", "GRANT CREATE ON SCHEMA "+pgsql.Quote(t.schema)+" TO "+pgsql.Quote(p.role))
	}
	if t.forced && !p.bypass {
		p.blocker(t, object, "its policies hide rows from role "+p.role+", which would not be copied", "do this as a role with BYPASSRLS")
	}
}

func (p *inspection) blockColumn(t *table, c *column) {
	object := "column " + c.name
	if c.taken {
		p.blocker(t, object, fmt.Sprintf("the table has a column %s or %s already", c.fresh(), c.old()), "rename it, or drop it if an earlier move has left it")
	}
	if c.granted {
		p.blocker(t, object, "rights on the column were granted, which stay on the old one", "grant them on the table, or again afterwards")
	}
	if c.labelled {
		p.blocker(t, object, "it has a security label, which stays on the old one", "take the label off, and write it again afterwards")
	}
	if c.options {
		p.blocker(t, object, "it has options, which stay on the old one", "RESET them, and set them again afterwards")
	}
	for _, s := range c.sequences {
		if s.internal && s.special {
			p.blocker(t, "sequence "+s.name, "it is an identity's, which is created again, and has rights, a comment or a user of its own that would be lost", "take them off, and write them again afterwards")
		}
	}
}

func (p *inspection) blockIndex(t *table, i *index) {
	object := "index " + i.name
	switch {
	case i.kind == "x":
		p.blocker(t, "constraint "+i.constraint, "an exclusion constraint cannot be made from an index that exists", "drop it before, and add it again afterwards")
		return
	case i.expression(t) != "":
		p.blocker(t, object, "its expression or predicate uses column "+i.expression(t), "drop it before, and create it again afterwards")
	case !i.valid:
		p.blocker(t, object, "it is invalid", "REINDEX INDEX CONCURRENTLY, or drop it")
	}
	if i.clustered {
		p.blocker(t, object, "the table is clustered on it", "ALTER TABLE … SET WITHOUT CLUSTER, and CLUSTER ON again afterwards")
	}
	if i.identity {
		p.blocker(t, object, "it is the table's REPLICA IDENTITY", "ALTER TABLE … REPLICA IDENTITY DEFAULT, and again afterwards")
	}
	for _, c := range i.columns() {
		if c.customized || t.column(c.name) != nil && !c.widens {
			p.blocker(t, object, "column "+c.text+" has an operator class that does not go over to bigint by default", "drop it before, and create it again afterwards")
		}
	}
}

func (p *inspection) blockTrigger(t *table, g trigger) {
	object := "trigger " + g.name
	if g.rowBefore() && g.name > triggerName {
		p.blocker(t, object, "it fires after "+triggerName+", by its name, and could change a key that has been copied", "ALTER TRIGGER … RENAME TO a name that comes before")
	}
	if g.update() && (!p.super && g.enabled != "R" || p.super && g.enabled != "O") {
		p.blocker(t, object, "it would fire for every row that is copied",
			"do this as a superuser, or GRANT SET ON PARAMETER session_replication_role TO "+pgsql.Quote(p.role)+", with which triggers that are ENABLE ALWAYS or ENABLE REPLICA fire nevertheless")
	}
	if g.language == "plpgsql" && !g.owned {
		p.blocker(t, object, "its function "+g.function+" remembers the type of the keys until it is altered, which role "+p.role+" may not do", "do this as "+g.owner+", who owns it")
	}
}

// dependentsSQL finds what uses a column and does not come over: anything but
// its default, its sequence, its indexes and the constraints that are
// made of these.
const dependentsSQL = `
SELECT DISTINCT d.classid::regclass::text, a.attname,
       CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
            WHEN ad.oid IS NOT NULL THEN pg_describe_object('pg_catalog.pg_class'::regclass, ad.adrelid, ad.adnum)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_attribute g ON g.attrelid = ad.adrelid AND g.attnum = ad.adnum
LEFT JOIN pg_catalog.pg_constraint c ON d.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = d.objid
LEFT JOIN pg_catalog.pg_class o ON d.classid = 'pg_catalog.pg_class'::regclass AND o.oid = d.objid AND d.objsubid = 0
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid AND d.refobjsubid = ANY ($2::text::int2[])
  AND coalesce(c.contype NOT IN ('p', 'u', 'f', 'x') AND c.conname NOT LIKE 'gormflake\_%', true)
  AND coalesce(o.relkind NOT IN ('i', 'I', 'S'), true)
  AND (ad.oid IS NULL OR (ad.adrelid, ad.adnum) <> (d.refobjid, d.refobjsubid) OR g.attgenerated <> '')
  AND NOT (d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = d.refobjid AND d.objsubid = d.refobjsubid)
ORDER BY 1, 3, 2`

func (p *inspection) blockDependents(ctx context.Context, t *table) error {
	return each(ctx, p.tx, dependentsSQL, []any{t.oid, t.numbers()}, func(rows *sql.Rows) error {
		var catalog, column string
		var object sql.NullString
		if err := rows.Scan(&catalog, &column, &object); err != nil || !object.Valid { // dropped since the query began
			return err
		}
		p.blocker(t, object.String, "it uses column "+column+", and would stay on the old one", "drop it before, and create it again afterwards")
		return nil
	})
}

func (p *inspection) blockRules(ctx context.Context, t *table) error {
	return each(ctx, p.tx, `SELECT rulename FROM pg_catalog.pg_rewrite WHERE ev_class = $1::bigint::oid ORDER BY rulename`,
		[]any{t.oid}, func(rows *sql.Rows) error {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			p.blocker(t, "rule "+name, "it would rewrite the statements that copy rows", "drop it before, and create it again afterwards")
			return nil
		})
}

func (p *inspection) notePublications(ctx context.Context, t *table) error {
	return each(ctx, p.tx, `SELECT string_agg(pubname, ', ' ORDER BY pubname) FROM pg_catalog.pg_publication_tables
WHERE schemaname = $1::text AND tablename = $2::text HAVING count(*) > 0`, []any{t.schema, t.name}, func(rows *sql.Rows) error {
		var names string
		if err := rows.Scan(&names); err != nil {
			return err
		}
		p.note("Table %s is in publication %s: before stage prepare, add the new columns, as bigint, to the subscribers, or they stop; after stage swap, rename the columns there as the swap does.", t.name, names)
		return nil
	})
}
