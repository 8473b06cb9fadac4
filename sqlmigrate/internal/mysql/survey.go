package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// The queries of a survey. %s is the list of schemas in addition to the current schema. Each
// query reads a single view of information_schema, because MariaDB needs quadratic time to
// join two of its views. A query for references has six columns, which are the schema,
// table and column of a reference and of its target. They are empty if they do not matter.
const (
	// inSchemas is the condition for the schemas of a survey.
	inSchemas = `TABLE_SCHEMA IN (DATABASE(), %s)`

	// tablesSQL returns all tables, because the name of a column may refer to a table. It
	// excludes views, and two tables of this module. Survey leaves out the columns of
	// tables that this query excludes.
	tablesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE ` + inSchemas + ` AND TABLE_TYPE NOT LIKE '%%VIEW%%'
AND TABLE_NAME NOT IN ('` + mycatalog.JournalTable + `', '` + mycatalog.OnlineTable + `') ORDER BY 1, 2`

	// keysSQL returns the columns that alone are the primary key; MAX returns the only column.
	// Survey marks such a column (Alone). Its values, such as 1, 2 and 3, are also keys of most
	// other tables, so they do not show that the column refers to a certain table.
	keysSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, MAX(COLUMN_NAME), '', '', '' FROM information_schema.STATISTICS
WHERE ` + inSchemas + ` AND INDEX_NAME = 'PRIMARY' GROUP BY TABLE_SCHEMA, TABLE_NAME HAVING COUNT(*) = 1`

	// narrowSQL returns the columns that are too narrow for a Snowflake ID and may hold keys.
	// It excludes the copies and the old tables of an online move, because they are not
	// tables of the application. The last column of the query, FALSE, stands for the field
	// Alone of a NarrowColumn, which Survey sets.
	narrowSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT, EXTRA LIKE '%%auto_increment%%', FALSE FROM information_schema.COLUMNS
WHERE ` + inSchemas + ` AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int')
AND RIGHT(TABLE_NAME, 6) NOT IN ('_sfnew', '_sfold') -- of an online move that is under way
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`

	// typesSQL returns columns such as owner_type. Such a column shows that owner_id refers
	// to several tables, because in each row owner_type contains the table to which
	// owner_id refers.
	typesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, '', '', '' FROM information_schema.COLUMNS
WHERE ` + inSchemas + ` AND RIGHT(COLUMN_NAME, 5) = '_type'`

	// foreignKeysSQL returns the columns of all foreign keys, which are known references.
	foreignKeysSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE ` + inSchemas + ` AND REFERENCED_TABLE_NAME IS NOT NULL`

	// viewsSQL, routineTextsSQL and triggerTextsSQL return the SQL of the application in
	// the database. Its joins show which columns refer to which keys.
	viewsSQL = `SELECT CONCAT('view ', TABLE_NAME), VIEW_DEFINITION FROM information_schema.VIEWS WHERE ` + inSchemas + ` ORDER BY 1`

	routineTextsSQL = `SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_NAME), COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES
WHERE ROUTINE_SCHEMA IN (DATABASE(), %s) ORDER BY 1`

	triggerTextsSQL = `SELECT CONCAT('trigger ', TRIGGER_NAME), ACTION_STATEMENT FROM information_schema.TRIGGERS
WHERE TRIGGER_SCHEMA IN (DATABASE(), %s) ORDER BY 1`
)

// A surveyor sends the queries above and reads their rows. After an error, which is in
// err, it does not send any further query.
type surveyor struct {
	mycatalog.Server
	conn    *sql.Conn
	schemas string // the schemas in addition to the current schema, as a list of SQL literals
	err     error
}

// rowsOf returns the rows of a query, in which it inserts the list of schemas. After an
// error it returns no rows.
func rowsOf[T any](ctx context.Context, r *surveyor, query string) (found []T) {
	if r.err == nil {
		found, r.err = rows.Read[T](ctx, r.conn, fmt.Sprintf(query, r.schemas))
	}
	return found
}

// references returns the rows of a query for references. It removes the name of the
// current schema from the names of tables, so that each table has only one name.
func (r *surveyor) references(ctx context.Context, query string) []engine.Reference {
	found := rowsOf[engine.Reference](ctx, r, query)
	for i, f := range found {
		found[i].Table, found[i].ToTable = r.Normalize(f.Table), r.Normalize(f.ToTable)
	}
	return found
}

// Survey implements [engine.Engine]. It returns the columns of an integer type smaller
// than bigint, and the facts by which package likely judges whether they hold keys.
func (Engine) Survey(ctx context.Context, conn *sql.Conn, schemas []string) (*engine.Survey, error) {
	server, err := mycatalog.Open(ctx, conn)
	if err != nil {
		return nil, err
	}
	// Without further schemas, the list in the queries needs an element, which is "".
	r := &surveyor{Server: server, conn: conn, schemas: mycatalog.Literals(append([]string{""}, schemas...))}
	s := &engine.Survey{Current: server.Database}
	tables := map[plan.TableName]bool{}
	keys := map[engine.Reference]bool{} // the columns that alone are the primary key
	for _, t := range rowsOf[plan.TableName](ctx, r, tablesSQL) {
		s.Tables = append(s.Tables, r.Normalize(t))
		tables[r.Normalize(t)] = true
	}
	for _, c := range r.references(ctx, keysSQL) {
		keys[c] = true
	}
	for _, c := range rowsOf[engine.NarrowColumn](ctx, r, narrowSQL) {
		c.Table = r.Normalize(c.Table)
		c.Alone = keys[engine.Reference{Table: c.Table, Column: c.Name}]
		if tables[c.Table] {
			s.Columns = append(s.Columns, c)
		}
	}
	s.TypeColumns, s.ForeignKeys = r.references(ctx, typesSQL), r.references(ctx, foreignKeysSQL)
	for _, query := range []string{viewsSQL, routineTextsSQL, triggerTextsSQL} {
		s.Texts = append(s.Texts, rowsOf[engine.Text](ctx, r, query)...)
	}
	return s, r.err
}

// firstKeyColumn returns a query for the name and type of the first column of the table's
// primary key. The condition on the table is repeated for both views, because MariaDB
// would open the tables of all databases for a view without a constant table name.
func firstKeyColumn(table plan.TableName) string {
	isTable := func(view string) string {
		return view + ".TABLE_SCHEMA = " + mycatalog.SchemaOf(table) + " AND " + view + ".TABLE_NAME = " + mycatalog.Literal(table.Name)
	}
	return "SELECT s.COLUMN_NAME, c.DATA_TYPE FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ON c.COLUMN_NAME = s.COLUMN_NAME " +
		"WHERE " + isTable("s") + " AND " + isTable("c") + " AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1"
}

// Sample implements [engine.Engine]. It returns rows with the values of the columns as
// texts. It reads rows from both ends of the primary key and, if the key begins with an
// integer, from several places in between.
func (Engine) Sample(ctx context.Context, conn *sql.Conn, table plan.TableName, columns []engine.NarrowColumn) ([][]sql.NullString, error) {
	var key, typ string
	err := conn.QueryRowContext(ctx, firstKeyColumn(table)).Scan(&key, &typ)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	_, texts, err := rows.Texts(ctx, conn, sampleSQL(table, columns, key, typ))
	return texts, err
}

// sampleSQL returns a query for values of the columns. key is the first column of the
// primary key and typ its type, for example id and int. Both are "" if there is no primary
// key. Each of the parts of the query reads rows in the order of the primary key, so that
// it reads only these rows of a large table.
func sampleSQL(table plan.TableName, columns []engine.NarrowColumn, key, typ string) string {
	const ends, places, each = 300, 6, 100 // rows at each end, places between them, and rows at each place
	from := mycatalog.QuoteTable(table)
	all := "SELECT " + mycatalog.Join(columns, ", ", func(c engine.NarrowColumn) string { return "CAST(" + mycatalog.Quote(c.Name) + " AS CHAR)" }) + " FROM " + from
	if key == "" { // the table has no order in which the server can find rows quickly
		return fmt.Sprintf("%s LIMIT %d", all, 2*ends)
	}
	key = mycatalog.Quote(key)
	parts := []string{
		fmt.Sprintf("(%s ORDER BY %s LIMIT %d)", all, key, ends),
		fmt.Sprintf("(%s ORDER BY %s DESC LIMIT %d)", all, key, ends),
	}
	// The places divide the range of the keys into equal parts, here 7.
	for place := 1; place <= places && strings.HasSuffix(typ, "int"); place++ {
		parts = append(parts, fmt.Sprintf("(%[1]s WHERE %[2]s >= (SELECT MIN(%[2]s) + (MAX(%[2]s) - MIN(%[2]s)) DIV %[3]d * %[4]d FROM %[5]s) ORDER BY %[2]s LIMIT %[6]d)",
			all, key, places+1, place, from, each))
	}
	return strings.Join(parts, " UNION ALL ")
}
