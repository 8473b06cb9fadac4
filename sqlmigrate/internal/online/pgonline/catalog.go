package pgonline

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A table has columns to be widened.
type table struct {
	oid                       int64
	schema, name              string
	kind                      string
	partition, inherits       bool
	typed, owned, create      bool
	forced                    bool // row security, also of the owner
	owner                     string
	rows, heap, bytes, blocks int64

	columns  []*column
	indexes  []*index
	triggers []trigger
	known    []string // uses the columns
}

func (t *table) target() string { return pgsql.Qualified(t.schema, t.name) }

// column is the one of that name, or nil if it stays as it is.
func (t *table) column(name string) *column {
	for _, c := range t.columns {
		if c.name == name {
			return c
		}
	}
	return nil
}

// A column is to be widened.
type column struct {
	number     int64
	name, typ  string
	notNull    bool
	identity   string // a: always, d: by default
	value      string // default
	statistics int
	comment    sql.NullString
	granted    bool
	options    bool
	labelled   bool
	taken      bool // the table has a column of one of the temporary names
	sequences  []*sequence
}

func (c *column) fresh() string { return temporary(newPrefix, c.name, c.number) }
func (c *column) old() string   { return temporary(oldPrefix, c.name, c.number) }

// bounds are the type's.
func (c *column) bounds() (smallest, largest string) {
	if c.typ == "smallint" {
		return "-32768", "32767"
	}
	return "-2147483648", "2147483647"
}

// An inspection reads the catalog for a plan.
type inspection struct {
	tx     *sql.Tx
	role   string
	super  bool // may set session_replication_role
	bypass bool // sees all rows
	block  int64

	tables []*table // parents first
	byOID  map[int64]*table
	keys   []*foreignKey

	blockers []engine.Blocker
	notes    []string
}

func (p *inspection) blocker(t *table, object, reason, fix string) {
	p.blockers = append(p.blockers, engine.Blocker{Table: t.name, Object: object, Reason: reason, Fix: fix})
}

func (p *inspection) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

const oldestVersion = 140000

func (p *inspection) open(ctx context.Context) error {
	var version int
	err := p.tx.QueryRowContext(ctx, `
SELECT current_setting('server_version_num')::integer, current_user, current_setting('block_size')::bigint,
       r.rolsuper, r.rolsuper OR r.rolbypassrls
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`).Scan(&version, &p.role, &p.block, &p.super, &p.bypass)
	if err != nil {
		return inspectError(err)
	}
	if version < oldestVersion {
		return fmt.Errorf("sqlmigrate: online: the server's version is %d: want PostgreSQL %d or later", version/10000, oldestVersion/10000)
	}
	if version >= 150000 && !p.super {
		err = p.tx.QueryRowContext(ctx, `SELECT has_parameter_privilege(current_user, 'session_replication_role', 'SET')`).Scan(&p.super)
	}
	return inspectError(err)
}

func inspectError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlmigrate: online: inspect: %w", err)
}

// each calls f for each row of a query.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, f func(*sql.Rows) error) error {
	return inspectError(pgsql.Each(ctx, tx, query, args, f))
}

// resolve finds a table by the search path.
func (p *inspection) resolve(ctx context.Context, name engine.TableName) (*table, error) {
	t := &table{}
	err := p.tx.QueryRowContext(ctx, `
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relispartition,
       EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)),
       c.reloftype <> 0, pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(n.oid, 'CREATE'), c.relforcerowsecurity,
       pg_get_userbyid(c.relowner), greatest(c.reltuples, 0)::bigint,
       coalesce(pg_relation_size(c.oid), 0), coalesce(pg_total_relation_size(c.oid), 0)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1::text)`, pgsql.Qualified(name.Schema, name.Name)).Scan(
		&t.oid, &t.schema, &t.name, &t.kind, &t.partition, &t.inherits, &t.typed, &t.owned, &t.create, &t.forced,
		&t.owner, &t.rows, &t.heap, &t.bytes)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: online: table %s: %w", name, err)
	}
	t.blocks = t.heap / p.block
	p.byOID[t.oid] = t
	return t, nil
}

// describe reads the columns.
func (p *inspection) describe(ctx context.Context, t *table, names []string) error {
	list, err := json.Marshal(names)
	if err != nil {
		return inspectError(err)
	}
	return each(ctx, p.tx, `
SELECT a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text,
       coalesce(pg_get_expr(d.adbin, d.adrelid), ''), coalesce(a.attstattarget, -1),
       col_description(a.attrelid, a.attnum), a.attacl IS NOT NULL,
       EXISTS (SELECT FROM unnest(a.attoptions) AS o WHERE o LIKE 'n\_distinct%'), -- what else there may be is the server's own
       EXISTS (SELECT FROM pg_catalog.pg_seclabel l
               WHERE l.classoid = 'pg_catalog.pg_class'::regclass AND l.objoid = a.attrelid AND l.objsubid = a.attnum)
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attname IN (SELECT json_array_elements_text($2::text::json))
ORDER BY a.attnum`, []any{t.oid, string(list)}, func(rows *sql.Rows) error {
		var c column
		t.columns = append(t.columns, &c)
		return rows.Scan(&c.number, &c.name, &c.typ, &c.notNull, &c.identity,
			&c.value, &c.statistics, &c.comment, &c.granted, &c.options, &c.labelled)
	})
}

// occupied finds columns that have a temporary name already.
func (p *inspection) occupied(ctx context.Context, t *table) error {
	return each(ctx, p.tx, `SELECT a.attname FROM pg_catalog.pg_attribute a
WHERE a.attrelid = $1::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped`, []any{t.oid}, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		for _, c := range t.columns {
			c.taken = c.taken || name == c.fresh() || name == c.old()
		}
		return nil
	})
}

// A trigger is one that a user has created.
type trigger struct {
	name, enabled   string
	kind            int // as pg_trigger has it
	columns         int // of UPDATE OF
	function, owner string
	language        string
	cost            string
	owned           bool
}

func (t trigger) rowBefore() bool { return t.kind&1 != 0 && t.kind&2 != 0 && t.kind&(4|16) != 0 }
func (t trigger) update() bool    { return t.kind&16 != 0 && t.columns == 0 && t.enabled != "D" }

func (p *inspection) readTriggers(ctx context.Context, t *table) error {
	return each(ctx, p.tx, `
SELECT g.tgname, g.tgenabled::text, g.tgtype, coalesce(array_length(g.tgattr::int2[], 1), 0),
       f.oid::regprocedure::text, l.lanname, f.procost::text, pg_get_userbyid(f.proowner), pg_has_role(f.proowner, 'USAGE')
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE g.tgrelid = $1::bigint::oid AND NOT g.tgisinternal ORDER BY g.tgname`, []any{t.oid}, func(rows *sql.Rows) error {
		var g trigger
		if err := rows.Scan(&g.name, &g.enabled, &g.kind, &g.columns, &g.function, &g.language, &g.cost, &g.owner, &g.owned); err != nil {
			return err
		}
		t.triggers = append(t.triggers, g)
		return nil
	})
}
