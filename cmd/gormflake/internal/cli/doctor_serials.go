package cli

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
)

const (
	serialsCheck = "serials"

	newest  = 1000 // rows that are looked at without --deep
	sampled = 20   // rows in which serial numbers are looked for

	// maxSerial is longer than any serial number: what comes after it is not
	// read of a longer text.
	maxSerial = 100
)

// A serialColumn holds serial numbers.
type serialColumn struct {
	schema, table, column string
	code                  string
	order                 string // the primary key, as an ORDER BY; empty if it is not known
	format                *serial.Format
}

func (c *serialColumn) String() string {
	if c.schema == "" {
		return c.table + "." + c.column
	}
	return c.schema + "." + c.table + "." + c.column
}

// parseSerials reads the flags --serial.
func parseSerials(flags []string) ([]serialColumn, error) {
	columns := make([]serialColumn, len(flags))
	for i, flag := range flags {
		name, code, _ := strings.Cut(flag, "=")
		parts := strings.Split(name, ".")
		if n := len(parts); code == "" || n < 2 || n > 3 || strings.Contains("."+name+".", "..") {
			return nil, usageError{fmt.Errorf("--serial %q: want table.column=CODE, such as orders.number=ORD", flag)}
		}
		if _, err := serial.New(code, snowflake.TwitterLayout()); err != nil {
			return nil, usageError{fmt.Errorf("--serial %q: %w", flag, err)}
		}
		last := len(parts) - 1
		columns[i] = serialColumn{schema: strings.Join(parts[:last-1], ""), table: parts[last-1], column: parts[last], code: code}
	}
	return columns, nil
}

// checkSerials looks at the columns that were named, and at those that it finds.
// A column that does not exist is an error.
func (d *doctor) checkSerials(named []serialColumn) error {
	for i := range named {
		c := &named[i]
		for _, t := range d.tables {
			if t.name == c.table && t.schema == c.schema {
				c.order = " ORDER BY " + d.quote("t", t.key) + " DESC"
			}
		}
		if err := d.checkSerial(c); err != nil {
			if !denied(err) {
				return fmt.Errorf("--serial %v: %w", c, err)
			}
			d.unseen(serialsCheck, c.String(), err)
		}
	}
	for _, t := range d.tables {
		if t.snowflake {
			d.searchSerials(t, named)
		}
	}
	return nil
}

// searchSerials looks into the newest rows of a table.
func (d *doctor) searchSerials(t keyTable, named []serialColumn) {
	columns, err := d.textColumns(t)
	if err != nil {
		d.unseen(serialsCheck, t.String(), err)
		return
	}
	for _, column := range columns {
		c := serialColumn{schema: t.schema, table: t.name, column: column, order: " ORDER BY " + d.quote("t", t.key) + " DESC"}
		err := d.detect(&c)
		if err == nil && c.format != nil && !isNamed(named, &c) {
			err = d.checkSerial(&c)
		}
		if err != nil {
			d.unseen(serialsCheck, c.String(), err)
		}
	}
}

func isNamed(named []serialColumn, c *serialColumn) bool {
	for i := range named {
		if named[i].String() == c.String() {
			return true
		}
	}
	return false
}

// textSQL lists the columns of a table that may hold serial numbers.
var textSQL = map[string]string{
	"sqlite": `SELECT name FROM pragma_table_info(?2) WHERE ?1 = '' AND (type LIKE '%CHAR%' OR type LIKE '%TEXT%') ORDER BY cid`,
	"mysql": `SELECT COLUMN_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND DATA_TYPE IN ('char', 'varchar', 'tinytext', 'text') ORDER BY ORDINAL_POSITION`,
	"postgres": `SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = coalesce(nullif($1, ''), current_schema()) AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
  AND a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) ORDER BY a.attnum`,
}

func (d *doctor) textColumns(t keyTable) (names []string, err error) {
	err = d.each(textSQL[d.dialect], []any{t.schema, t.name}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

// detect sets the format if most of the newest values are serial numbers of one
// code.
func (d *doctor) detect(c *serialColumn) error {
	values, err := d.values(c, sampled)
	if err != nil {
		return err
	}
	for _, value := range values {
		if f, code := formatOf(value, d.layout); f != nil && 2*parsed(f, values) > len(values) {
			c.format, c.code = f, code
			return nil
		}
	}
	return nil
}

// values are those of the newest rows, without NULL. The column stands with its
// table: SQLite takes a name that it does not know, in quotes, for a text.
func (d *doctor) values(c *serialColumn, rows int) (values []string, err error) {
	query := fmt.Sprintf("SELECT v FROM (SELECT SUBSTR(%s, 1, %d) AS v FROM %s AS t%s LIMIT %d) AS newest WHERE v IS NOT NULL",
		d.quote("t", c.column), maxSerial, d.quote(c.schema, c.table), c.order, rows)
	err = d.each(query, nil, func(scan func(...any) error) error {
		var value string
		err := scan(&value)
		values = append(values, value)
		return err
	})
	return values, err
}

// separated are the options under which serial numbers differ.
var separated = [][]serial.Option{nil, {serial.WithSeparator("-")}, {serial.WithSeparator("_")}, {serial.WithSeparator(".")}}

// formatOf finds the code: all that follows it has a fixed width.
func formatOf(value string, layout snowflake.Layout) (f *serial.Format, code string) {
	for _, options := range separated {
		f, err := serial.New("X", layout, options...)
		if err != nil || len(value) < f.Width() {
			continue
		}
		code = value[:len(value)-f.Width()+1]
		if f, err = serial.New(code, layout, options...); err != nil {
			continue
		}
		if _, err := f.Parse(value); err == nil {
			return f, code
		}
	}
	return nil, ""
}

func parsed(f *serial.Format, values []string) int {
	n := 0
	for _, value := range values {
		if _, err := f.Parse(value); err == nil {
			n++
		}
	}
	return n
}

// bestFormat is that of the code which reads the most of the values.
func bestFormat(code string, layout snowflake.Layout, values []string) (*serial.Format, error) {
	var best *serial.Format
	most := -1
	for _, options := range separated {
		f, err := serial.New(code, layout, options...)
		if err != nil {
			return nil, err
		}
		if n := parsed(f, values); n > most {
			best, most = f, n
		}
	}
	return best, nil
}
