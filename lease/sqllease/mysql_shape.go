package sqllease

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// mysqlColumns asks about the columns. CHAR and BINARY are no text: what they return has
// lost or gained characters at its end.
const mysqlColumns = `SELECT LOWER(COLUMN_NAME), CONCAT(COLUMN_TYPE, COALESCE(CONCAT(' with the collation ', COLLATION_NAME), '')),
  CASE WHEN LOWER(DATA_TYPE) = 'int' THEN 'integer'
    WHEN LOWER(DATA_TYPE) LIKE 'var%' OR LOWER(DATA_TYPE) LIKE '%text' OR LOWER(DATA_TYPE) LIKE '%blob' THEN 'text' ELSE LOWER(DATA_TYPE) END,
  COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0),
  COLUMN_TYPE NOT LIKE '%unsigned%' AND COALESCE(RIGHT(COLLATION_NAME, 4) = '_bin', 1),
  COALESCE(RIGHT(COLLATION_NAME, 10) <> '_nopad_bin' AND COLLATION_NAME <> 'utf8mb4_0900_bin', 0),
  IS_NULLABLE = 'YES', COALESCE(GENERATION_EXPRESSION, '') <> ''
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?`

// mysqlParts asks for the kind, schema and engine of the table, its unique indexes
// over both key columns, and the triggers that run before a row is written. The engines
// are those that keep a unique key themselves, whether or not they forget.
//
// An account without the right TRIGGER does not see the table's. The names have
// different collations on MySQL, which a UNION of them refuses.
const mysqlParts = `SELECT 'table', CASE UPPER(CONVERT(TABLE_TYPE USING utf8mb4)) WHEN 'BASE TABLE' THEN '' WHEN 'VIEW' THEN 'a view' WHEN 'TEMPORARY' THEN 'a temporary table'
    ELSE CONCAT('of the type ', CONVERT(TABLE_TYPE USING utf8mb4)) END, CONVERT(TABLE_SCHEMA USING utf8mb4), ''
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
UNION ALL
SELECT 'key', CONVERT(INDEX_NAME USING utf8mb4), IF(MAX(SUB_PART) IS NULL, '', 'covers only a prefix'), ''
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? AND NON_UNIQUE = 0
GROUP BY INDEX_NAME HAVING COUNT(*) = 2 AND COUNT(DISTINCT IF(LOWER(COLUMN_NAME) IN ('namespace', 'worker_id'), LOWER(COLUMN_NAME), NULL)) = 2
UNION ALL
SELECT 'forgets', CONCAT('table ', ?, ' has the engine ', CONVERT(ENGINE USING utf8mb4), ', which can forget writes: ALTER TABLE ', ?, ' ENGINE=InnoDB'), '', ''
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
  AND UPPER(ENGINE) NOT IN ('', 'INNODB')
UNION ALL
SELECT 'flaw', CONCAT('it has the engine ', CONVERT(ENGINE USING utf8mb4), ', which keeps no key'), 'InnoDB', CONCAT('ALTER TABLE ', ?, ' ENGINE=InnoDB')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?
  AND UPPER(ENGINE) NOT IN ('', 'INNODB', 'MYISAM', 'ARIA', 'MEMORY', 'ROCKSDB', 'TOKUDB', 'NDBCLUSTER', 'NDB')
UNION ALL
SELECT 'flaw', CONCAT('trigger ', CONVERT(TRIGGER_NAME USING utf8mb4), ' can change what is written'), 'no BEFORE trigger',
  CONCAT('DROP TRIGGER ', ?, ` + "REPLACE(CONVERT(TRIGGER_NAME USING utf8mb4), '`', '``'), '`'" + `)
FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = COALESCE(?, DATABASE()) AND EVENT_OBJECT_TABLE = ?
  AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION <> 'DELETE'`

func mysqlShape(ctx context.Context, conn *sql.Conn, t table) (found shape, err error) {
	schema := sql.NullString{String: t.schema, Valid: t.schema != ""}
	of, beforeName := []any{schema, t.name}, strings.TrimSuffix(t.quoted, t.name+"`")
	if err = found.readColumns(ctx, conn, mysqlColumns, of...); err != nil {
		return found, err
	}
	args := slices.Concat(of, of, []any{t.quoted, t.quoted}, of, []any{t.quoted}, of, []any{beforeName}, of)
	if err = found.readParts(ctx, conn, mysqlParts, args...); err != nil || found.kind != "" {
		return found, err
	}
	hidden, err := isTemporary(ctx, conn, t)
	if hidden {
		found.kind = temporary
	}
	if err == nil {
		found.clustered, err = isClustered(ctx, conn)
	}
	return found, err
}
