package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
)

// The catalog is asked for one thing at a time: MariaDB would need the square of the
// number of tables to join two of its views. The condition is the same for all.
const (
	surveyed = `TABLE_SCHEMA IN (DATABASE(), %s)`

	// tablesSQL asks for all tables: a column may be named after one. Views are left
	// out, of the columns too.
	tablesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE ` + surveyed + ` ORDER BY 1, 2`

	// keysSQL asks for the columns that are the whole primary key: their values are like
	// those of other keys, and show nothing.
	keysSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, MAX(COLUMN_NAME) FROM information_schema.STATISTICS
WHERE ` + surveyed + ` AND INDEX_NAME = 'PRIMARY' GROUP BY TABLE_SCHEMA, TABLE_NAME HAVING COUNT(*) = 1`

	// narrowSQL asks for the columns that could hold keys and are too narrow. The
	// shadows of an online move that is under way are not the application's tables.
	narrowSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT, EXTRA LIKE '%%auto_increment%%' FROM information_schema.COLUMNS
WHERE ` + surveyed + ` AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int')
AND RIGHT(TABLE_NAME, 6) NOT IN ('_sfnew', '_sfold') -- of an online move that is under way
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`

	// typesSQL asks for columns such as owner_type: owner_id then refers to several
	// tables.
	typesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE ` + surveyed + ` AND RIGHT(COLUMN_NAME, 5) = '_type'`

	// foreignKeysSQL asks for references, which need no guess.
	foreignKeysSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE ` + surveyed + ` AND REFERENCED_TABLE_NAME IS NOT NULL`

	// The last three ask for SQL of the application, whose joins show what refers to
	// what.
	viewsSQL = `SELECT CONCAT('view ', TABLE_NAME), VIEW_DEFINITION FROM information_schema.VIEWS WHERE ` + surveyed + ` ORDER BY 1`

	routineTextsSQL = `SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_NAME), COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES
WHERE ROUTINE_SCHEMA IN (DATABASE(), %s) ORDER BY 1`

	triggerTextsSQL = `SELECT CONCAT('trigger ', TRIGGER_NAME), ACTION_STATEMENT FROM information_schema.TRIGGERS
WHERE TRIGGER_SCHEMA IN (DATABASE(), %s) ORDER BY 1`
)

// Survey implements [engine.Engine].
func (Engine) Survey(ctx context.Context, conn *sql.Conn, schemas []string) (*engine.Survey, error) {
	server, err := mycatalog.Open(ctx, conn)
	if err != nil {
		return nil, err
	}
	list := mycatalog.Literals(append([]string{""}, schemas...))
	s := &survey{Survey: engine.Survey{Current: server.Database}, views: map[engine.TableName]bool{}, keys: map[engine.Reference]bool{}}
	for _, step := range s.steps() {
		row := func() {
			s.at.Table, s.at.ToTable = server.Normal(s.at.Table), server.Normal(s.at.ToTable)
			step.row()
			s.at = engine.Reference{}
		}
		if err := mycatalog.Each(ctx, conn, fmt.Sprintf(step.query, list), step.into, row); err != nil {
			return nil, err
		}
	}
	return &s.Survey, nil
}

// A survey is a Survey in the making, with the row that has been read last.
type survey struct {
	engine.Survey

	views map[engine.TableName]bool
	keys  map[engine.Reference]bool // columns that are a primary key

	at     engine.Reference
	kind   string // of a table
	narrow engine.NarrowColumn
	text   engine.Text
}

// A surveyStep is a query, where its columns go, and what is done with a row.
type surveyStep struct {
	query string
	into  []any
	row   func()
}

func (s *survey) steps() []surveyStep {
	table := func(more ...any) []any { return append([]any{&s.at.Table.Schema, &s.at.Table.Name}, more...) }
	column := func(more ...any) []any { return table(append([]any{&s.at.Column}, more...)...) }
	text := []any{&s.text.Object, &s.text.SQL}
	addText := func() { s.Texts = append(s.Texts, s.text) }
	return []surveyStep{
		{tablesSQL, table(&s.kind), s.addTable},
		{keysSQL, column(), func() { s.keys[s.at] = true }},
		{narrowSQL, column(&s.narrow.Type, &s.narrow.Comment, &s.narrow.Assigned), s.addNarrow},
		{typesSQL, column(), func() { s.TypeColumns = append(s.TypeColumns, s.at) }},
		{
			foreignKeysSQL, column(&s.at.ToTable.Schema, &s.at.ToTable.Name, &s.at.ToColumn),
			func() { s.ForeignKeys = append(s.ForeignKeys, s.at) },
		},
		{viewsSQL, text, addText},
		{routineTextsSQL, text, addText},
		{triggerTextsSQL, text, addText},
	}
}

func (s *survey) addTable() {
	if t := s.at.Table; strings.Contains(s.kind, "VIEW") {
		s.views[t] = true
	} else if t.Name != mycatalog.JournalTable && t.Name != mycatalog.OnlineTable {
		s.Tables = append(s.Tables, t)
	}
}

func (s *survey) addNarrow() {
	if s.views[s.at.Table] {
		return
	}
	c := s.narrow
	c.Table, c.Name, c.Alone = s.at.Table, s.at.Column, s.keys[s.at]
	s.Columns = append(s.Columns, c)
}

// firstKeyColumn asks for the first column of the primary key, with its type, to sample
// rows from all over the table. MariaDB opens the tables of all databases for a view of
// its information_schema whose table is not a constant, so both views have the
// condition.
func firstKeyColumn(table engine.TableName) string {
	of := func(view string) string {
		return view + ".TABLE_SCHEMA = " + mycatalog.SchemaOf(table) + " AND " + view + ".TABLE_NAME = " + mycatalog.Literal(table.Name)
	}
	return "SELECT s.COLUMN_NAME, c.DATA_TYPE FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ON c.COLUMN_NAME = s.COLUMN_NAME " +
		"WHERE " + of("s") + " AND " + of("c") + " AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1"
}

// Sample implements [engine.Engine]. It reads rows from both ends of the primary key
// and, if that begins with an integer, from several places in between.
func (Engine) Sample(ctx context.Context, conn *sql.Conn, table engine.TableName, columns []engine.NarrowColumn) ([][]sql.NullString, error) {
	var key, typ string
	if err := mycatalog.Each(ctx, conn, firstKeyColumn(table), []any{&key, &typ}, func() {}); err != nil {
		return nil, err
	}
	return engine.ReadTexts(ctx, conn, len(columns), sampleSQL(table, columns, key, typ))
}

func sampleSQL(table engine.TableName, columns []engine.NarrowColumn, key, typ string) string {
	const ends, places, each = 300, 6, 100
	from := mycatalog.QuoteTable(table)
	all := "SELECT " + mycatalog.Join(columns, ", ", func(c engine.NarrowColumn) string { return "CAST(" + mycatalog.Quote(c.Name) + " AS CHAR)" }) + " FROM " + from
	if key == "" {
		return fmt.Sprintf("%s LIMIT %d", all, 2*ends)
	}
	key = mycatalog.Quote(key)
	parts := []string{
		fmt.Sprintf("(%s ORDER BY %s LIMIT %d)", all, key, ends),
		fmt.Sprintf("(%s ORDER BY %s DESC LIMIT %d)", all, key, ends),
	}
	for place := 1; place <= places && strings.HasSuffix(typ, "int"); place++ {
		parts = append(parts, fmt.Sprintf("(%[1]s WHERE %[2]s >= (SELECT MIN(%[2]s) + (MAX(%[2]s) - MIN(%[2]s)) DIV %[3]d * %[4]d FROM %[5]s) ORDER BY %[2]s LIMIT %[6]d)",
			all, key, places+1, place, from, each))
	}
	return strings.Join(parts, " UNION ALL ")
}
