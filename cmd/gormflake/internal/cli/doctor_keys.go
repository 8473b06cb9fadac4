package cli

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gormflake/gormflake/types"
)

const (
	keysCheck = "keys"

	// futureSlack is how far a key may be ahead of the clock: of a generator
	// that tolerates a step back, and of another machine.
	futureSlack = time.Minute

	// youngest is how far a key must be above the epoch to look like a
	// Snowflake ID: no counter gets there.
	youngest = 24 * time.Hour
)

// A keyTable is a table whose primary key begins with a BIGINT.
type keyTable struct {
	schema, name, key string
	assigned          bool // the database assigns keys
	snowflake         bool // the largest key looks like a Snowflake ID
}

func (t *keyTable) String() string {
	if t.schema == "" {
		return t.name
	}
	return t.schema + "." + t.name
}

// is reports whether the command line names the table so.
func (t *keyTable) is(name string) bool { return name == t.name || name == t.schema+"."+t.name }

// keysSQL lists the tables, with their schema where it is not the current one.
var keysSQL = map[string]string{
	"sqlite": `SELECT '', m.name, c.name, m.sql LIKE '%AUTOINCREMENT%'
FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
  AND c.pk = 1 AND c.type LIKE '%INT%' ORDER BY 2`,
	"mysql": `SELECT '', c.TABLE_NAME, c.COLUMN_NAME, c.EXTRA LIKE '%auto_increment%'
FROM information_schema.COLUMNS c
JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA = c.TABLE_SCHEMA AND s.TABLE_NAME = c.TABLE_NAME
  AND s.COLUMN_NAME = c.COLUMN_NAME AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1
WHERE c.TABLE_SCHEMA = DATABASE() AND c.DATA_TYPE = 'bigint' AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY 2`,
	"postgres": `SELECT CASE WHEN n.nspname = current_schema() THEN '' ELSE n.nspname END, c.relname, a.attname,
  a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%', false)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.atttypid = 'int8'::regtype
  AND n.nspname = ANY (current_schemas(false)) ORDER BY 1, 2`,
}

// checkKeys asks each table for its largest key, which is one look into the
// index of the primary key.
func (d *doctor) checkKeys() {
	if err := d.listTables(); err != nil {
		d.unseen(keysCheck, "", err)
		return
	}
	moved, before := 0, len(d.report.Findings)
	for i := range d.tables {
		t := &d.tables[i]
		if slices.ContainsFunc(d.flags.skip, t.is) {
			continue
		}
		if err := d.checkKey(t); err != nil {
			d.unseen(keysCheck, t.String(), err)
		}
		if !t.snowflake {
			continue
		}
		moved++
		if t.assigned {
			d.report.problem(keysCheck, t.String(), fmt.Sprintf("its keys are Snowflake IDs, and the database still assigns %s where a program does not", t.key), "gormflake migrate plan "+t.String())
		}
	}
	if len(d.report.Findings) == before {
		d.report.ok(keysCheck, "", fmt.Sprintf("%s with a BIGINT key can be seen, %d of them with Snowflake IDs; none is ahead of the clock", counted(len(d.tables), "table", "tables"), moved))
	}
}

func (d *doctor) listTables() (err error) {
	d.tables, err = d.keyTables()
	return err
}

// keyTables lists the tables whose primary key begins with a BIGINT.
func (p *patient) keyTables() (tables []keyTable, err error) {
	err = p.each(keysSQL[p.dialect], nil, func(scan func(...any) error) error {
		var t keyTable
		err := scan(&t.schema, &t.name, &t.key, &t.assigned)
		tables = append(tables, t)
		return err
	})
	return tables, err
}

func (d *doctor) checkKey(t *keyTable) error {
	var largest sql.NullString
	query := fmt.Sprintf("SELECT MAX(%s) FROM %s", d.quote(t.key), d.quote(t.schema, t.name))
	if err := d.ask(query, nil, &largest); err != nil || !largest.Valid {
		return err
	}
	key, err := strconv.ParseInt(largest.String, 10, 64)
	if err != nil {
		d.report.problem(keysCheck, t.String(), fmt.Sprintf("its largest %s, %q, is no ID", t.key, largest.String), "correct the row, or leave the table out with --skip "+t.String())
		return nil
	}
	t.snowflake = types.ID(key) >= d.layout.Min(d.layout.Epoch.Add(youngest))
	now := d.flags.now()
	if types.ID(key) <= d.layout.Max(now.Add(futureSlack)) {
		return nil
	}
	at := d.layout.Time(types.ID(key))
	d.report.problem(keysCheck, t.String(),
		fmt.Sprintf("its largest %s, %d, is of %s, %s ahead of the clock: a generator had a wrong clock or another layout", t.key, key, at.Format(time.RFC3339), span(at.Sub(now))),
		"correct the clock, or give doctor the layout of these keys; if they are no Snowflake IDs, --skip "+t.String())
	return nil
}
