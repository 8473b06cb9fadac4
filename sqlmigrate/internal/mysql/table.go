package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

type table struct {
	name        engine.TableName // normal
	kind        string           // BASE TABLE, VIEW, …
	engine      string
	rows, bytes int64
	elements    []string
	options     string // what follows them
	columns     []*column
	indexes     map[string][]string
	checks      map[string][]string // of MariaDB's columns; nil on MySQL
	foreign     []foreignKey        // also those that an unfinished run has dropped
	maxKey      string              // the largest key in use, empty if there is none
	notPositive bool                // some keys are
}

type column struct {
	table      *table
	name       string
	columnType string     // as information_schema has it
	definition definition // the old one, if an unfinished run has changed it
	primary    bool
	generated  string // the expression
	preset     string // the default, see defaultIs
	rest       string // see restIs
	wide       integerType
	refers     []*column
}

func (c *column) String() string { return c.table.name.String() + "." + c.name }

func (c *column) typ() integerType { return c.definition.typ() }

func (c *column) wideType() integerType { return c.wide }

// widens reports whether the column's type changes.
func (c *column) widens() bool { return c.wide.base != "" }

// afterWiden is the definition after phase widen.
func (c *column) afterWiden() definition {
	if c.widens() {
		return c.definition.as(c.wide)
	}
	return c.definition
}

// assigned says how the database assigns the column, if it does.
func (c *column) assigned() string {
	switch {
	case c.definition.auto() >= 0:
		return "auto_increment"
	case c.primary && c.definition.hasDefault():
		return "default"
	}
	return ""
}

func (c *column) hasForeignKey() bool {
	return slices.ContainsFunc(c.table.foreign, func(f foreignKey) bool {
		return slices.ContainsFunc(f.columns, func(name string) bool { return strings.EqualFold(name, c.name) })
	})
}

func (t *table) column(name string) *column {
	for _, c := range t.columns {
		if strings.EqualFold(c.name, name) {
			return c
		}
	}
	return nil
}

func (t *table) key() []*column {
	var key []*column
	for _, c := range t.columns {
		if c.primary {
			key = append(key, c)
		}
	}
	return key
}

var emptyTriggers = regexp.MustCompile(`Error 1343\b.*'triggers'`)

// withTriggerFile adds to an error what no statement can repair: the file of triggers
// that MariaDB leaves when it is told to KILL a RENAME.
func withTriggerFile(name engine.TableName, err error) error {
	if !emptyTriggers.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("the server cannot read %s.TRG in its folder of the database, perhaps since a RENAME was killed: remove this file, run FLUSH TABLES, and revert an online move that is not finished: its triggers are lost, no row is: %w", name.Name, err)
}

// table reads a table, once.
func (in *inspection) table(name engine.TableName) (*table, error) {
	name = in.normal(name)
	if t := in.tables[name]; t != nil {
		return t, nil
	}
	t, err := in.readTable(name)
	if err != nil {
		return nil, fmt.Errorf("sqlmigrate: table %s: %w", name, withTriggerFile(name, err))
	}
	// Some servers fold names: two spellings are one table.
	if known := in.tables[t.name]; known != nil {
		t = known
	}
	in.tables[name], in.tables[t.name] = t, t
	return t, nil
}

const tables = "SELECT TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(TABLE_ROWS, 0), " +
	"COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) FROM information_schema.TABLES WHERE "

var errMySQLView = errors.New("it is a view: name a table")

func (in *inspection) readTable(name engine.TableName) (*table, error) {
	t := &table{name: name}
	row := in.conn.QueryRowContext(in.ctx, tables+whereTable(name))
	err := row.Scan(&t.name.Name, &t.kind, &t.engine, &t.rows, &t.bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errors.New("it does not exist, or the account has no right to see it")
	}
	if err != nil {
		return nil, err
	}
	if strings.Contains(t.kind, "VIEW") {
		return nil, errMySQLView
	}
	if t.kind == "SEQUENCE" {
		return nil, fmt.Errorf("it is a %s: name a table", strings.ToLower(t.kind))
	}
	var ignored, create string
	if err := in.conn.QueryRowContext(in.ctx, "SHOW CREATE TABLE "+quoteTable(t.name)).Scan(&ignored, &create); err != nil {
		return nil, err
	}
	if t.elements, t.options, err = elements(create); err != nil {
		return nil, fmt.Errorf("the definition that the server shows is not understood: %w", err)
	}
	if err := in.readColumns(t); err != nil {
		return nil, err
	}
	if err := in.readIndexes(t); err != nil {
		return nil, err
	}
	if err := in.readChecks(t); err != nil {
		return nil, err
	}
	t.define(in)
	in.journal.overlay(t)
	return t, nil
}

// define takes what the definition says of columns and foreign keys.
func (t *table) define(in *inspection) {
	for _, e := range t.elements {
		if strings.HasPrefix(e, "`") {
			if c := t.column(quotedNames(e)[0]); c != nil {
				c.definition = definition(e)
			}
		} else if f, ok := parseForeignKey(t.name, e); ok {
			f.parent = in.normal(f.parent)
			t.foreign = append(t.foreign, f)
		}
	}
}

const columns = "SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY = 'PRI', COALESCE(GENERATION_EXPRESSION, ''), " +
	defaultIs + ", " + restIs + " FROM information_schema.COLUMNS WHERE "

func (in *inspection) readColumns(t *table) error {
	rows, err := in.conn.QueryContext(in.ctx, columns+whereTable(t.name)+" ORDER BY ORDINAL_POSITION")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		c := &column{table: t}
		if err := rows.Scan(&c.name, &c.columnType, &c.primary, &c.generated, &c.preset, &c.rest); err != nil {
			return err
		}
		t.columns = append(t.columns, c)
	}
	return rows.Err()
}

// query calls row for each row of a query.
func (in *inspection) query(query string, row func(scan func(...any) error) error) error {
	rows, err := in.conn.QueryContext(in.ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
