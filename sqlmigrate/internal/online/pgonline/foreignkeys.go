package pgonline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A foreignKey has a column to be widened on one side or both.
type foreignKey struct {
	oid                          int64
	name                         string
	child, parent                *table
	columns, refer               []string
	set                          []string // columns of SET NULL or SET DEFAULT, all if empty
	onUpdate, onDelete, deferral string   // clauses
	valid                        bool
	comment                      sql.NullString
}

func (k *foreignKey) fresh() string { return temporary(newPrefix, k.name, k.oid) }
func (k *foreignKey) back() string  { return temporary(backPrefix, k.name, k.oid) }

const foreignKeysSQL = `
SELECT c.oid::bigint, c.conname, c.conrelid::bigint, c.confrelid::bigint,
       (SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(c.conkey) WITH ORDINALITY AS k (att, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att),
       (SELECT json_agg(a.attname ORDER BY k.n)::text FROM unnest(c.confkey) WITH ORDINALITY AS k (att, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.att),
       coalesce((SELECT json_agg(a.attname)::text
        FROM jsonb_array_elements_text(CASE jsonb_typeof(to_jsonb(c) -> 'confdelsetcols')
          WHEN 'array' THEN to_jsonb(c) -> 'confdelsetcols' ELSE '[]' END) AS k (att)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.att::integer), '[]'),
       CASE c.confmatchtype WHEN 'f' THEN ' MATCH FULL' ELSE '' END
         || CASE c.confupdtype WHEN 'r' THEN ' ON UPDATE RESTRICT' WHEN 'c' THEN ' ON UPDATE CASCADE'
                               WHEN 'n' THEN ' ON UPDATE SET NULL' WHEN 'd' THEN ' ON UPDATE SET DEFAULT' ELSE '' END,
       CASE c.confdeltype WHEN 'r' THEN ' ON DELETE RESTRICT' WHEN 'c' THEN ' ON DELETE CASCADE'
                          WHEN 'n' THEN ' ON DELETE SET NULL' WHEN 'd' THEN ' ON DELETE SET DEFAULT' ELSE '' END,
       CASE WHEN c.condeferred THEN ' DEFERRABLE INITIALLY DEFERRED' WHEN c.condeferrable THEN ' DEFERRABLE' ELSE '' END,
       c.convalidated, obj_description(c.oid, 'pg_constraint')
FROM pg_catalog.pg_constraint c
WHERE c.contype = 'f' AND (c.conrelid = $1::bigint::oid AND c.conkey && $2::text::int2[]
                        OR c.confrelid = $1::bigint::oid AND c.confkey && $2::text::int2[])
ORDER BY c.conname, c.oid`

// A foundKey has its tables as the catalog has them.
type foundKey struct {
	*foreignKey
	childOID, parentOID int64
}

func (p *inspection) readForeignKeys(ctx context.Context, t *table) error {
	var found []foundKey
	err := each(ctx, p.tx, foreignKeysSQL, []any{t.oid, t.numbers()}, func(rows *sql.Rows) error {
		k := foundKey{foreignKey: &foreignKey{}}
		var columns, refer, set string
		if err := rows.Scan(&k.oid, &k.name, &k.childOID, &k.parentOID, &columns, &refer, &set,
			&k.onUpdate, &k.onDelete, &k.deferral, &k.valid, &k.comment); err != nil {
			return err
		}
		found = append(found, k)
		return errors.Join(json.Unmarshal([]byte(columns), &k.columns), json.Unmarshal([]byte(refer), &k.refer), json.Unmarshal([]byte(set), &k.set))
	})
	if err != nil {
		return err
	}
	for _, k := range found {
		if slices.ContainsFunc(p.keys, func(known *foreignKey) bool { return known.oid == k.oid }) {
			continue
		}
		if k.child, err = p.tableOf(ctx, k.childOID); err != nil {
			return err
		}
		if k.parent, err = p.tableOf(ctx, k.parentOID); err != nil {
			return err
		}
		p.keys = append(p.keys, k.foreignKey)
	}
	return nil
}

// tableOf is a table at the other end of a foreign key, which may have no column to
// be widened.
func (p *inspection) tableOf(ctx context.Context, oid int64) (*table, error) {
	if t := p.byOID[oid]; t != nil {
		return t, nil
	}
	var name engine.TableName
	err := p.tx.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::bigint::oid`, oid).Scan(&name.Schema, &name.Name)
	if err != nil {
		return nil, inspectError(err)
	}
	return p.resolve(ctx, name)
}

// add makes the same foreign key between other columns, without looking at rows.
func (k *foreignKey) add(name string, column func(*column) string) string {
	set := ""
	if len(k.set) > 0 {
		set = " (" + k.child.list(k.set, column) + ")"
	}
	return "ALTER TABLE " + k.child.target() + " ADD CONSTRAINT " + pgsql.Quote(name) +
		" FOREIGN KEY (" + k.child.list(k.columns, column) + ") REFERENCES " + k.parent.target() + " (" + k.parent.list(k.refer, column) + ")" +
		k.onUpdate + k.onDelete + set + k.deferral + " NOT VALID"
}

// list are columns, those that are widened under another name.
func (t *table) list(names []string, column func(*column) string) string {
	return joined(names, ", ", func(name string) string {
		if c := t.column(name); c != nil {
			return pgsql.Quote(column(c))
		}
		return pgsql.Quote(name)
	})
}

// numbers are the columns' as the text of an array.
func (t *table) numbers() string {
	return "{" + joined(t.columns, ",", func(c *column) string { return strconv.FormatInt(c.number, 10) }) + "}"
}
