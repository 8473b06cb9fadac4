package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/types"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A column is a column of the connected set. One that a partition or a child
// has from its parent is a member of the parent's.
type column struct {
	node          node
	schema, table string
	kind          string // of the table
	owner         string // of the table
	owned         bool   // by the current role
	typed         bool   // the table is of a composite type
	name          string
	typ           string // as the database writes it
	base          string // without a domain
	domain        bool
	length        int  // of a string, or digits before the point; negative without a limit
	identity      bool // declared here or, in a partition, by its parent
	always        bool
	generated     bool
	inherited     int // parents that have the column
	key           bool

	root     *column   // in the topmost table that has the column
	members  []*column // of a root: itself and below
	refers   []string
	masters  []int64 // the tables of refers
	enforced bool    // by a foreign key to another column

	value     string // default, as an expression; empty without one
	sequences []*sequence

	smallest, largest sql.NullInt64 // of a root that is a key
}

func (c *column) target() string { return pgsql.Qualified(c.schema, c.table) }

// narrow reports whether the column has to be widened.
func (c *column) narrow() bool {
	return (c.base == "int2" || c.base == "int4") && !c.domain
}

// bounds returns the type's.
func (c *column) bounds() (smallest, largest string) {
	if c.base == "int2" {
		return "-32768", "32767"
	}
	return "-2147483648", "2147483647"
}

// A table is one of the plan: its columns are roots.
type table struct {
	oid          int64
	schema, name string
	columns      []*column
	members      []int64 // the table itself, partitions and children, parents first
	rows         int64
	bytes, heap  int64 // heap is without indexes
	relations    int   // tables, with TOAST, and indexes
	constraints  int
	notAnalyzed  bool
	checks       []check
	recreated    recreated
	kept         []string // statements after each change of a type
}

func (t *table) target() string { return pgsql.Qualified(t.schema, t.name) }

func (t *table) narrow() []*column {
	var found []*column
	for _, c := range t.columns {
		if c.narrow() {
			found = append(found, c)
		}
	}
	return found
}

// narrow are all columns to be widened, with those below them.
func (p *inspection) narrow() []*column {
	var found []*column
	for _, t := range p.tables {
		for _, c := range t.narrow() {
			found = append(found, c.members...)
		}
	}
	return found
}

func (p *inspection) tablesByOID() map[int64]*table {
	found := map[int64]*table{}
	for _, t := range p.tables {
		found[t.oid] = t
	}
	return found
}

func (t *table) public(p *inspection) engine.Table {
	table := engine.Table{Schema: t.schema, Name: t.name, Rows: t.rows, Bytes: t.bytes, NotAnalyzed: t.notAnalyzed}
	if t.schema == p.schema {
		table.Schema = ""
	}
	for _, c := range t.columns {
		column := engine.Column{Name: c.name, Type: c.typ, Key: c.key, Auto: c.auto(), Refers: c.refers}
		if c.narrow() {
			column.To = "bigint"
		}
		table.Columns = append(table.Columns, column)
		table.MaxKey = max(table.MaxKey, types.ID(c.largest.Int64))
	}
	return table
}

const describeSQL = `
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, pg_get_userbyid(c.relowner),
       pg_has_role(c.relowner, 'USAGE'), c.reloftype <> 0,
       coalesce(a.attnum, 0), coalesce(a.attname, ''), coalesce(format_type(a.atttypid, a.atttypmod), ''),
       coalesce(b.typname, ''), coalesce(t.typtype = 'd', false),
       CASE WHEN b.typname IN ('varchar', 'bpchar') THEN m.typmod - 4
            WHEN b.typname = 'numeric' AND m.typmod >= 4 THEN ((m.typmod - 4) >> 16 & 65535) - ((m.typmod - 4) & 2047)
            ELSE -1 END,
       coalesce(a.attidentity, '') <> '', coalesce(a.attidentity, '') = 'a', coalesce(a.attgenerated, '') <> '',
       coalesce(a.attinhcount, 0),
       EXISTS (SELECT FROM pg_catalog.pg_constraint k
               WHERE k.contype = 'p' AND k.conrelid = c.oid AND a.attnum = ANY (k.conkey))
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_class c ON c.oid = node.rel
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att AND node.att > 0
LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
CROSS JOIN LATERAL (SELECT CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END) AS m (typmod)`

func (p *inspection) describe(ctx context.Context) error {
	tables, columns := p.nodes()
	return each(ctx, p.tx, describeSQL, []any{tables, columns}, func(rows *sql.Rows) error {
		var c column
		if err := rows.Scan(&c.node.table, &c.schema, &c.table, &c.kind, &c.owner,
			&c.owned, &c.typed,
			&c.node.column, &c.name, &c.typ,
			&c.base, &c.domain, &c.length,
			&c.identity, &c.always, &c.generated,
			&c.inherited, &c.key); err != nil {
			return err
		}
		*p.columns[c.node] = c
		return nil
	})
}

// arrange puts columns under their parents' columns, and these into tables.
func (p *inspection) arrange(ctx context.Context) error {
	parents := map[*column][]*column{}
	tables, _ := p.nodes()
	err := each(ctx, p.tx, `
SELECT i.inhrelid::bigint, child.attnum, i.inhparent::bigint, parent.attnum
FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_attribute child ON child.attrelid = i.inhrelid AND child.attnum > 0 AND child.attinhcount > 0
JOIN pg_catalog.pg_attribute parent ON parent.attrelid = i.inhparent AND parent.attname = child.attname
WHERE i.inhrelid = ANY ($1::text::oid[])`, []any{tables}, func(rows *sql.Rows) error {
		var e edge
		if err := rows.Scan(&e.from.table, &e.from.column, &e.to.table, &e.to.column); err != nil {
			return err
		}
		if from, to := p.columns[e.from], p.columns[e.to]; from != nil && to != nil {
			parents[from] = append(parents[from], to)
		}
		return nil
	})
	if err != nil {
		return err
	}
	found := map[int64]*table{}
	for _, c := range p.sorted() {
		c.root = c
		for len(parents[c.root]) > 0 {
			c.root = parents[c.root][0]
		}
		c.root.members = append(c.root.members, c)
		c.root.key = c.root.key || c.key
		if len(parents[c]) > 1 && c.narrow() {
			p.blocker(p.display(c.schema, c.table), "column "+c.name, "the table has it from several parents, so none of them can change it",
				"end all inheritances but one with NO INHERIT")
		}
		if c.root == c {
			p.place(found, c)
		}
	}
	return nil
}

// place puts a root into its table.
func (p *inspection) place(found map[int64]*table, c *column) {
	t := found[c.node.table]
	if t == nil {
		t = &table{oid: c.node.table, schema: c.schema, name: c.table}
		found[t.oid] = t
		p.tables = append(p.tables, t)
	}
	if c.node.column > 0 {
		t.columns = append(t.columns, c)
	}
}

// sorted are all columns, by the names of their tables and in their order
// there.
func (p *inspection) sorted() []*column {
	var all []*column
	for _, c := range p.columns {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.schema, b.schema), cmp.Compare(a.node.column, b.node.column))
	})
	return all
}

// measure finds the size of each table and the largest of its keys.
func (p *inspection) measure(ctx context.Context) error {
	if err := p.size(ctx); err != nil {
		return err
	}
	for _, t := range p.tables {
		for _, c := range t.columns {
			if !c.key || !c.narrow() && c.base != "int8" {
				continue
			}
			err := p.tx.QueryRowContext(ctx, fmt.Sprintf("SELECT min(%[1]s)::bigint, max(%[1]s)::bigint FROM %[2]s",
				pgsql.Quote(c.name), t.target())).Scan(&c.smallest, &c.largest)
			if err != nil {
				return fmt.Errorf("sqlmigrate: the largest key of table %s: %w", p.display(t.schema, t.name), err)
			}
		}
	}
	return nil
}

func (p *inspection) size(ctx context.Context) error {
	var oids []int64
	for _, t := range p.tables {
		oids = append(oids, t.oid)
	}
	byOID := p.tablesByOID()
	return each(ctx, p.tx, `
WITH RECURSIVE member (root, oid, depth) AS (
  SELECT oid, oid, 0 FROM unnest($1::text::oid[]) AS oid
  UNION
  SELECT m.root, i.inhrelid, m.depth + 1 FROM member m JOIN pg_catalog.pg_inherits i ON i.inhparent = m.oid
)
SELECT m.root::bigint, c.oid::bigint, CASE WHEN c.relkind = 'p' THEN 0 ELSE greatest(c.reltuples, 0)::bigint END,
       coalesce(pg_total_relation_size(c.oid), 0), coalesce(pg_table_size(c.oid), 0),
       (c.reltuples < 0 OR c.reltuples = 0 AND c.relpages = 0) AND coalesce(pg_relation_size(c.oid), 0) > 0,
       1 + CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE 2 END + (SELECT count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid),
       (SELECT count(*) FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid)
FROM (SELECT root, oid, max(depth) AS depth FROM member GROUP BY root, oid) AS m JOIN pg_catalog.pg_class c ON c.oid = m.oid
ORDER BY m.depth, c.oid`, []any{arrayLiteral(oids)}, func(rows *sql.Rows) error {
		var root, member, count, bytes, heap int64
		var notAnalyzed bool
		var relations, constraints int
		if err := rows.Scan(&root, &member, &count, &bytes, &heap, &notAnalyzed, &relations, &constraints); err != nil {
			return err
		}
		t := byOID[root]
		t.relations, t.constraints = t.relations+relations, t.constraints+constraints
		t.members, t.notAnalyzed = append(t.members, member), t.notAnalyzed || notAnalyzed
		t.rows, t.bytes, t.heap = t.rows+count, t.bytes+bytes, t.heap+heap
		return nil
	})
}
