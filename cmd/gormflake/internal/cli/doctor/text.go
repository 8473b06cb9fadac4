package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/types"
)

// A textColumn is a text column in a MySQL database. kind is its type, such as varchar(20),
// and nullable is YES or NO.
type textColumn struct{ table, name, kind, nullable string }

// textColumnsSQL returns the text columns of all tables, except generated columns.
const textColumnsSQL = `SELECT c.TABLE_NAME, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE
FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' AND c.GENERATION_EXPRESSION = ''
  AND c.DATA_TYPE IN ('char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext')
ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION`

// checkText looks for Snowflake IDs in text columns. They are a problem in MySQL only,
// which compares text with a number as floating point, so that IDs next to each other seem
// equal. MariaDB compares exactly, and PostgreSQL rejects the comparison. checkText leaves out
// the table of workers, whose texts are no IDs, and the tables of --skip.
func (d *doctor) checkText() {
	var version string // stays empty on other databases
	if d.Dialect == "mysql" {
		d.warnUnchecked(columnsCheck, "", d.Ask("SELECT VERSION()", nil, &version))
	}
	if version == "" || strings.Contains(version, "MariaDB") {
		return
	}
	columns, err := readonly.Rows(d.Database, textColumnsSQL, nil, func(c *textColumn) []any { return []any{&c.table, &c.name, &c.kind, &c.nullable} })
	d.warnUnchecked(columnsCheck, "", err) // columns is empty if there is an error
	for _, c := range columns {
		table := readonly.Table{Name: c.table}
		if d.isLeaseTable(c.table) || slices.ContainsFunc(d.flags.skip, table.Is) {
			continue
		}
		d.warnUnchecked(columnsCheck, c.table+"."+c.name, d.checkTextColumn(&c))
	}
}

// checkTextColumn warns if at least half of a sample of the column are Snowflake IDs. The
// sample has any maxRows rows, because the table may have no index that finds the newest.
func (d *doctor) checkTextColumn(c *textColumn) error {
	query := fmt.Sprintf("SELECT v FROM (SELECT SUBSTR(%s, 1, %d) AS v FROM %s LIMIT %d) AS sample WHERE v IS NOT NULL",
		d.Quote(c.name), maxChars, d.Quote(c.table), maxRows)
	values, err := readonly.Rows(d.Database, query, nil, func(value *string) []any { return []any{value} })
	if err != nil {
		return err
	}
	ids := len(slices.DeleteFunc(slices.Clone(values), func(value string) bool { return !d.looksLikeID(value) }))
	if ids == 0 || 2*ids < len(values) { // a few values may look like IDs by chance
		return nil
	}
	newType := "BIGINT"
	if c.nullable == "NO" {
		newType += " NOT NULL"
	}
	d.report.warn(columnsCheck, c.table+"."+c.name,
		fmt.Sprintf("it is %s, and of a sample of %d, %s: MySQL compares text with a number as floating point, so that a program that passes a number finds, changes and deletes the rows of IDs up to 128 apart", c.kind, len(values), terminal.Counted(ids, "is a Snowflake ID", "are Snowflake IDs")),
		fmt.Sprintf("ALTER TABLE %s MODIFY %s %s; or compare it with strings alone, as id.String() returns them; if these are no IDs, --skip %s", d.Quote(c.table), d.Quote(c.name), newType, c.table))
	return nil
}

// looksLikeID reports whether the text is an ID that a generator may have issued between a
// day after the layout's epoch and now. A smaller number may come from a counter.
func (d *doctor) looksLikeID(text string) bool {
	id, err := types.ParseID(text)
	return err == nil && id >= d.layout.Min(d.layout.Epoch.Add(minSinceEpoch)) && id <= d.layout.Max(d.flags.now().Add(futureSlack))
}
