package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// Quote implements [engine.Engine].
func (Engine) Quote(t engine.TableName) string { return t.Quoted("`") }

// FoldsNames implements [engine.Engine].
func (Engine) FoldsNames() bool { return true }

// absentText is what the driver writes.
var absentText = regexp.MustCompile(`Error 1146|Error 1049`)

// Absent implements [engine.Engine].
func (Engine) Absent(err error) bool { return absentText.MatchString(err.Error()) }

// Transactions implements [engine.Engine].
func (Engine) Transactions() bool { return false }

// timeoutText is for lock_wait_timeout, innodb_lock_wait_timeout and deadlocks.
var timeoutText = regexp.MustCompile(`Error (1205|1213)\b`)

// LockTimeout implements [engine.Engine].
func (Engine) LockTimeout(err error) bool { return timeoutText.MatchString(err.Error()) }

// AfterFailure implements [engine.Engine].
func (Engine) AfterFailure(changed int, all bool) string {
	switch {
	case changed == 0:
		return "no statement of this phase has been carried out"
	case all:
		return "all statements of this phase have been carried out"
	default:
		return engine.PartlyChanged(changed)
	}
}

// The catalog is asked for each thing apart: MariaDB would take the square of the
// number of tables to join two of its views. The condition is the same for all.
const (
	surveyed = `TABLE_SCHEMA IN (DATABASE(), %s)`

	narrowSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT, EXTRA LIKE '%%auto_increment%%' FROM information_schema.COLUMNS
WHERE ` + surveyed + ` AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int')
AND RIGHT(TABLE_NAME, 6) NOT IN ('_sfnew', '_sfold') -- of an online move that is under way
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`

	typesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE ` + surveyed + ` AND RIGHT(COLUMN_NAME, 5) = '_type'`

	tablesSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE ` + surveyed + ` ORDER BY 1, 2`

	keysSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, MAX(COLUMN_NAME) FROM information_schema.STATISTICS
WHERE ` + surveyed + ` AND INDEX_NAME = 'PRIMARY' GROUP BY TABLE_SCHEMA, TABLE_NAME HAVING COUNT(*) = 1`

	foreignKeysSQL = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE ` + surveyed + ` AND REFERENCED_TABLE_NAME IS NOT NULL`

	viewsSQL = `SELECT CONCAT('view ', TABLE_NAME), VIEW_DEFINITION FROM information_schema.VIEWS WHERE ` + surveyed + ` ORDER BY 1`

	routineTextsSQL = `SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_NAME), COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES
WHERE ROUTINE_SCHEMA IN (DATABASE(), %s) ORDER BY 1`

	triggerTextsSQL = `SELECT CONCAT('trigger ', TRIGGER_NAME), ACTION_STATEMENT FROM information_schema.TRIGGERS
WHERE TRIGGER_SCHEMA IN (DATABASE(), %s) ORDER BY 1`
)

// Survey implements [engine.Engine].
func (Engine) Survey(ctx context.Context, conn *sql.Conn, schemas []string) (*engine.Survey, error) {
	in := &inspection{ctx: ctx, conn: conn}
	if err := in.readServer(); err != nil {
		return nil, err
	}
	list := literals(append([]string{""}, schemas...))
	s := &survey{inspection: in, Survey: &engine.Survey{Current: in.database}, views: map[engine.TableName]bool{}, alone: map[engine.Reference]bool{}}
	for _, step := range []struct {
		query string
		row   func(scan func(...any) error) error
	}{
		{tablesSQL, s.table},
		{keysSQL, s.key},
		{narrowSQL, s.narrow},
		{typesSQL, s.typeColumn},
		{foreignKeysSQL, s.foreignKey},
		{viewsSQL, s.text},
		{routineTextsSQL, s.text},
		{triggerTextsSQL, s.text},
	} {
		if err := in.query(fmt.Sprintf(step.query, list), step.row); err != nil {
			return nil, err
		}
	}
	return s.Survey, nil
}

type survey struct {
	*inspection
	*engine.Survey

	views map[engine.TableName]bool
	alone map[engine.Reference]bool // columns that are a primary key
}

func (s *survey) table(scan func(...any) error) error {
	var t engine.TableName
	var kind string
	if err := scan(&t.Schema, &t.Name, &kind); err != nil {
		return err
	}
	t = s.normal(t)
	if strings.Contains(kind, "VIEW") {
		s.views[t] = true
	} else if t.Name != journalTable && t.Name != OnlineTable {
		s.Tables = append(s.Tables, t)
	}
	return nil
}

func (s *survey) column(scan func(...any) error, more ...any) (engine.Reference, error) {
	var r engine.Reference
	err := scan(append([]any{&r.Table.Schema, &r.Table.Name, &r.Column}, more...)...)
	r.Table = s.normal(r.Table)
	return r, err
}

func (s *survey) key(scan func(...any) error) error {
	r, err := s.column(scan)
	s.alone[r] = true
	return err
}

func (s *survey) narrow(scan func(...any) error) error {
	var c engine.NarrowColumn
	r, err := s.column(scan, &c.Type, &c.Comment, &c.Assigned)
	if err == nil && !s.views[r.Table] {
		c.Table, c.Name, c.Alone = r.Table, r.Column, s.alone[r]
		s.Columns = append(s.Columns, c)
	}
	return err
}

func (s *survey) typeColumn(scan func(...any) error) error {
	r, err := s.column(scan)
	s.TypeColumns = append(s.TypeColumns, r)
	return err
}

func (s *survey) foreignKey(scan func(...any) error) error {
	var to engine.TableName
	var column string
	r, err := s.column(scan, &to.Schema, &to.Name, &column)
	r.ToTable, r.ToColumn = s.normal(to), column
	s.ForeignKeys = append(s.ForeignKeys, r)
	return err
}

func (s *survey) text(scan func(...any) error) error {
	var t engine.Text
	err := scan(&t.Object, &t.SQL)
	s.Texts = append(s.Texts, t)
	return err
}

// firstKeyColumn reads the first column of the primary key, with its type. MariaDB
// opens the tables of all databases for a view of its information_schema whose table
// is not a constant, so both views have the condition.
func firstKeyColumn(table engine.TableName) string {
	of := func(view string) string {
		return view + ".TABLE_SCHEMA = " + schemaOf(table) + " AND " + view + ".TABLE_NAME = " + literal(table.Name)
	}
	return "SELECT s.COLUMN_NAME, c.DATA_TYPE FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ON c.COLUMN_NAME = s.COLUMN_NAME " +
		"WHERE " + of("s") + " AND " + of("c") + " AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1"
}

// Sample implements [engine.Engine]. It reads rows from both ends of the primary key
// and, if that begins with an integer, from several places in between.
func (e Engine) Sample(ctx context.Context, conn *sql.Conn, table engine.TableName, columns []engine.NarrowColumn) ([][]sql.NullString, error) {
	const ends, places, each = 300, 6, 100
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = "CAST(" + quote(c.Name) + " AS CHAR)"
	}
	all := "SELECT " + strings.Join(values, ", ") + " FROM " + e.Quote(table)
	in := &inspection{ctx: ctx, conn: conn}
	var key, typ string
	err := in.query(firstKeyColumn(table),
		func(scan func(...any) error) error { return scan(&key, &typ) })
	if err != nil {
		return nil, err
	}
	if key == "" {
		return engine.ReadTexts(ctx, conn, len(columns), fmt.Sprintf("%s LIMIT %d", all, 2*ends))
	}
	parts := []string{
		fmt.Sprintf("(%s ORDER BY %s LIMIT %d)", all, quote(key), ends),
		fmt.Sprintf("(%s ORDER BY %s DESC LIMIT %d)", all, quote(key), ends),
	}
	for place := 1; place <= places && strings.HasSuffix(typ, "int"); place++ {
		parts = append(parts, fmt.Sprintf("(%[1]s WHERE %[2]s >= (SELECT MIN(%[2]s) + (MAX(%[2]s) - MIN(%[2]s)) DIV %[3]d * %[4]d FROM %[5]s) ORDER BY %[2]s LIMIT %[6]d)",
			all, quote(key), places+1, place, e.Quote(table), each))
	}
	return engine.ReadTexts(ctx, conn, len(columns), strings.Join(parts, " UNION ALL "))
}
