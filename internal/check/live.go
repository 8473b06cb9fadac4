package check

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/sqliteguard"
)

// table describes a table of the database. It has no columns if the table does not exist.
type table struct {
	columns []liveColumn
	version string // version of the server, if the dialect is mysql
	err     error  // of reading the table
}

// liveColumn is a column of a table, as the database describes it.
type liveColumn struct {
	name         string
	dbType       columnType
	defaultValue sql.NullString // the expression of the default, NULL if there is none
	auto         bool           // the database assigns values by a counter or sequence

	// random reports whether TiDB assigns the keys, by AUTO_RANDOM.
	random bool

	// followsLargest reports whether the database assigns the key after the largest key to a
	// row without a key. generatedAlways reports whether the database rejects keys that it
	// did not assign.
	followsLargest, generatedAlways bool
}

// find returns the column that the database finds by this name in quotes, or nil. dialect is
// the name of GORM's dialect, such as postgres.
func (t table) find(dialect, name string) *liveColumn {
	for i := range t.columns {
		if l := &t.columns[i]; sameName(dialect, l.name, name) {
			return l
		}
	}
	return nil
}

// sameName reports whether the database takes two names in quotes for the same column.
// PostgreSQL distinguishes upper and lower case, SQLite ignores the case of ASCII letters
// only, and MySQL ignores the case of all letters.
func sameName(dialect, a, b string) bool {
	switch dialect {
	case "postgres":
		return a == b
	case "sqlite":
		return strings.Map(lowerASCII, a) == strings.Map(lowerASCII, b)
	default:
		return strings.EqualFold(a, b)
	}
}

// lowerASCII returns the lower-case letter of an ASCII letter, and any other r unchanged.
func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// quietSession returns a session that does not log the errors of queries, because the
// caller gets them.
func quietSession(db *gorm.DB) *gorm.DB {
	const silent = 1 // logger.Silent, whose package would be imported for this value alone
	db = db.Session(&gorm.Session{NewDB: true, Logger: db.Logger.LogMode(silent)})
	db.DryRun = false // a dry run would not run the queries, and this session writes nothing
	return db
}

// writeSession returns a session whose queries go to the database to which GORM sends writes
// of the table. GORM's plugin dbresolver chooses a database by the table of the statement.
// Without the setting, dbresolver would send a SELECT to a replica.
func writeSession(db *gorm.DB, table string) *gorm.DB {
	return db.Table(table).Set("gorm:db_resolver:write", struct{}{}).Session(&gorm.Session{})
}

// tableError adds the name of the table to an error. It returns nil if err is nil.
func tableError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("gormflake: check table %s: %w", name, err)
}

// readColumns returns the columns of the table that an INSERT with this name would use.
// It returns no columns if the table does not exist.
func readColumns(db *gorm.DB, name string) ([]liveColumn, error) {
	switch db.Name() {
	case "sqlite":
		return sqliteColumns(db, name)
	case "postgres":
		return postgresColumns(db, name)
	case "mysql":
		return mysqlColumns(db, name)
	default:
		return nil, fmt.Errorf("got a database of %s: want SQLite, PostgreSQL, MySQL or MariaDB", db.Name())
	}
}

var (
	autoincrement = regexp.MustCompile(`(?i)\bautoincrement\b`)
	withoutRowid  = regexp.MustCompile(`(?i)\bwithout\s+rowid\b`)
)

// sqliteColumns returns the columns, and for each whether SQLite assigns its values. An
// INTEGER PRIMARY KEY gets its values from SQLite, with or without AUTOINCREMENT, unless the
// trigger of package sqliteguard rejects a row without a key. Only an INTEGER PRIMARY KEY can
// have AUTOINCREMENT, and only the statement that created the table shows AUTOINCREMENT. The
// last two values that the query selects are this statement, and whether the table has the
// trigger.
func sqliteColumns(db *gorm.DB, name string) ([]liveColumn, error) {
	schema, name := splitName(name)
	master := db.Statement.Quote(schema + "sqlite_master")
	query := "SELECT name, type, dflt_value, pk, sum(pk > 0) OVER (), (SELECT sql FROM " + master + " WHERE type = 'table' AND name = ? COLLATE NOCASE)," +
		" EXISTS (SELECT 1 FROM " + master + " WHERE type = 'trigger' AND name = ? COLLATE NOCASE AND tbl_name = ? COLLATE NOCASE) FROM pragma_table_info(?, ?)"
	return readRows(db, func(rows *sql.Rows, l *liveColumn) error {
		var key, keys int // position of the column in the primary key, or 0, and number of such columns
		var ddl sql.NullString
		var guarded bool
		err := rows.Scan(&l.name, &l.dbType, &l.defaultValue, &key, &keys, &ddl, &guarded)
		l.auto = key > 0 && autoincrement.MatchString(ddl.String)
		// An INTEGER that is the only key column is the rowid, unless the table has none.
		l.followsLargest = key > 0 && keys == 1 && !guarded && strings.EqualFold(string(l.dbType), "integer") && !withoutRowid.MatchString(ddl.String)
		return err
	}, query, name, sqliteguard.Name(name), name, name, sql.NullString{String: strings.TrimSuffix(schema, "."), Valid: schema != ""})
}

// splitName splits a name such as app.orders into the schema with its dot (app.) and the table
// (orders). schema is empty if the name has no dot.
func splitName(name string) (schema, table string) {
	i := strings.Index(name, ".") + 1
	return name[:i], name[i:]
}

// postgresColumns returns the columns from the server's catalogue, because the views of
// information_schema hide a table to which the role has no right. The type of a column of a
// domain (typtype d) is the type on which the domain is based. The database assigns a column
// that is an identity, or that has a default nextval. An identity that is GENERATED ALWAYS
// (attidentity a) rejects other keys. System columns, which the query leaves out, have an
// attnum below 1.
func postgresColumns(db *gorm.DB, name string) ([]liveColumn, error) {
	const query = `SELECT a.attname,
	CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END,
	pg_get_expr(d.adbin, d.adrelid),
	a.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false),
	a.attidentity = 'a'
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped`
	columns, err := readRows(db, func(rows *sql.Rows, l *liveColumn) error {
		return rows.Scan(&l.name, &l.dbType, &l.defaultValue, &l.auto, &l.generatedAlways)
	}, query, db.Statement.Quote(name))
	if len(columns) == 0 && err == nil {
		err = postgresHidden(db, name)
	}
	return columns, err
}

// postgresHidden returns an error if the table is in a schema that the server leaves out
// of the search path, because the role may not use it. Without this check, such a table
// would seem not to exist. The query finds tables with this name in the schemas that the
// setting search_path lists and that the role may not use. In the setting, "$user" stands
// for the role's name.
func postgresHidden(db *gorm.DB, name string) error {
	const query = `SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = ? AND NOT has_schema_privilege(n.oid, 'USAGE') AND n.nspname IN (
	SELECT trim(both ' "' FROM replace(s, '$user', current_user)) FROM unnest(string_to_array(current_setting('search_path'), ',')) s)`
	var schemas []string
	if err := db.Raw(query, name).Scan(&schemas).Error; err != nil {
		return err
	}
	if len(schemas) > 0 {
		return fmt.Errorf("permission denied for schema %s: grant USAGE on it", schemas[0])
	}
	return nil
}

var noSuchTable = regexp.MustCompile(`^Error 1146\b`) // ER_NO_SUCH_TABLE

// mysqlColumns returns the columns from SHOW COLUMNS, because this statement fails if the
// user has no right to the table. The server's catalogue would hide such a table.
// mysqlColumns returns no columns and no error if the table does not exist.
func mysqlColumns(db *gorm.DB, name string) ([]liveColumn, error) {
	columns, err := readRows(db, func(rows *sql.Rows, l *liveColumn) error {
		var null, key, extra sql.NullString
		err := rows.Scan(&l.name, &l.dbType, &null, &key, &l.defaultValue, &extra)
		l.auto = strings.Contains(strings.ToLower(extra.String), "auto_increment")
		l.followsLargest = l.auto
		return err
	}, "SHOW COLUMNS FROM "+db.Statement.Quote(name))
	if err != nil && noSuchTable.MatchString(err.Error()) {
		return nil, nil
	}
	return columns, err
}

// version returns the server's version, which distinguishes MySQL, MariaDB and TiDB. The
// dialect of all three is mysql. version returns "" for other dialects.
func version(db *gorm.DB) (version string, err error) {
	if db.Name() == "mysql" {
		err = db.Raw("SELECT VERSION()").Row().Scan(&version)
	}
	return version, err
}

// autoRandom finds the name of the column that has AUTO_RANDOM in the result of SHOW CREATE
// TABLE, for example id in "  `id` bigint NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */,".
var autoRandom = regexp.MustCompile("(?m)^ *`([^`]+)`.*/\\*T!\\[auto_rand\\] AUTO_RANDOM")

// markAutoRandom sets random in the column that has AUTO_RANDOM, which TiDB leaves out of
// SHOW COLUMNS. t is a copy that shares its columns with the caller's table.
func markAutoRandom(db *gorm.DB, name string, t table) error {
	if !strings.Contains(t.version, "TiDB") {
		return nil
	}
	var same, ddl string // the table's name, and the statement that creates it
	err := db.Raw("SHOW CREATE TABLE "+db.Statement.Quote(name)).Row().Scan(&same, &ddl)
	if found := autoRandom.FindStringSubmatch(ddl); found != nil {
		t.find("mysql", found[1]).random = true
	}
	return err
}

// readRows runs the query, which returns a row for each column of a table, and lets scan fill
// the description of the column from that row.
func readRows(db *gorm.DB, scan func(*sql.Rows, *liveColumn) error, query string, args ...any) (columns []liveColumn, err error) {
	rows, err := db.Raw(query, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l liveColumn
		if err := scan(rows, &l); err != nil {
			return nil, err
		}
		columns = append(columns, l)
	}
	return columns, rows.Err()
}
