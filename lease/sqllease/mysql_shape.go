package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// mysqlColumns asks for the type, the collation and the NULLs of the columns.
const mysqlColumns = `SELECT LOWER(COLUMN_NAME), COLUMN_TYPE, LOWER(DATA_TYPE),
  COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0), COALESCE(COLLATION_NAME, ''),
  IS_NULLABLE = 'YES', COALESCE(GENERATION_EXPRESSION, '') <> ''
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?`

// mysqlParts asks for the schema, the kind and engine of the table, its unique indexes
// over both key columns, and the triggers that run before a row is written.
//
// An account without the right TRIGGER does not see the table's. The names have
// different collations on MySQL, which a UNION of them refuses.
const mysqlParts = `SELECT 'schema', CONVERT(COALESCE(?, DATABASE()) USING utf8mb4), ''
UNION ALL
SELECT 'table', CONVERT(TABLE_TYPE USING utf8mb4), CONVERT(COALESCE(ENGINE, '') USING utf8mb4)
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
UNION ALL
SELECT 'key', CONVERT(INDEX_NAME USING utf8mb4), IF(MAX(SUB_PART) IS NULL, '', 'covers only a prefix')
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? AND NON_UNIQUE = 0
GROUP BY INDEX_NAME HAVING COUNT(*) = 2 AND COUNT(DISTINCT IF(LOWER(COLUMN_NAME) IN ('namespace', 'worker_id'), LOWER(COLUMN_NAME), NULL)) = 2
UNION ALL
SELECT 'trigger', CONVERT(TRIGGER_NAME USING utf8mb4), ''
FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = COALESCE(?, DATABASE()) AND EVENT_OBJECT_TABLE = ?
  AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION <> 'DELETE'`

func mysqlShape(ctx context.Context, conn *sql.Conn, t table) (shape, error) {
	found := shape{columns: map[string]column{}}
	schema := sql.NullString{String: t.schema, Valid: t.schema != ""}
	if err := eachRow(ctx, conn, mysqlColumns, []any{schema, t.name}, found.scanMySQLColumn); err != nil {
		return shape{}, err
	}
	args := append([]any{schema}, slices.Repeat([]any{schema, t.name}, 3)...)
	err := eachRow(ctx, conn, mysqlParts, args, func(rows *sql.Rows) error {
		var part, name, text string
		err := rows.Scan(&part, &name, &text)
		found.addMySQL(t, part, name, text)
		return err
	})
	if err != nil || found.kind != "" {
		return found, err
	}
	hidden, err := isTemporary(ctx, conn, t)
	if hidden {
		found.kind = temporary
	}
	return found, err
}

func (found *shape) scanMySQLColumn(rows *sql.Rows) error {
	var name, typ, collation string
	var size, scale int64
	var c column
	err := rows.Scan(&name, &c.typ, &typ, &size, &scale, &collation, &c.nullable, &c.generated)
	c.exact = holds(name, mysqlType(typ), size, scale) && !strings.Contains(c.typ, "unsigned")
	if collation != "" {
		c.typ += " with the collation " + collation
		c.exact = c.exact && strings.HasSuffix(collation, "_bin")
		c.pads = !strings.HasSuffix(collation, "_nopad_bin") && collation != "utf8mb4_0900_bin"
	}
	found.columns[name] = c
	return err
}

func (found *shape) addMySQL(t table, part, name, text string) {
	switch part {
	case "schema":
		found.schema = name
	case "table":
		kind, known := mysqlKinds[strings.ToUpper(name)]
		if found.kind = kind; !known {
			found.kind = "of the type " + name
		}
		if text != "" && !strings.EqualFold(text, "InnoDB") {
			found.forgets = fmt.Sprintf("table %s has the engine %s, which can forget writes: ALTER TABLE %s ENGINE=InnoDB", t.quoted, text, t.quoted)
		}
		if text != "" && !slices.Contains(mysqlEngines, strings.ToUpper(text)) {
			found.flaws = append(found.flaws, Flaw{Found: "it has the engine " + text + ", which keeps no key", Want: "InnoDB", Fix: "ALTER TABLE " + t.quoted + " ENGINE=InnoDB"})
		}
	case "key":
		found.keys = append(found.keys, uniqueKey{name, text})
	case "trigger":
		trigger := "`" + strings.ReplaceAll(name, "`", "``") + "`"
		if t.schema != "" {
			trigger = "`" + t.schema + "`." + trigger
		}
		found.flaws = append(found.flaws, Flaw{Found: "trigger " + name + " can change what is written", Want: "no BEFORE trigger", Fix: "DROP TRIGGER " + trigger})
	}
}

var mysqlKinds = map[string]string{"BASE TABLE": "", "VIEW": aView, "TEMPORARY": temporary}

// mysqlEngines keep a unique key themselves. Whether they forget is not the
// question here.
var mysqlEngines = []string{"INNODB", "MYISAM", "ARIA", "MEMORY", "ROCKSDB", "TOKUDB", "NDBCLUSTER", "NDB"}

// mysqlType is the name of a type for [holds]. CHAR and BINARY are no text: what they
// return has lost or gained characters at its end.
func mysqlType(typ string) string {
	switch {
	case typ == "int":
		return "integer"
	case strings.HasPrefix(typ, "var"), strings.HasSuffix(typ, "text"), strings.HasSuffix(typ, "blob"):
		return "text"
	}
	return typ
}
