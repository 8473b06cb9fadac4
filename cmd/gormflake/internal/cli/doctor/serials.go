package doctor

import (
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/readonly"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/serials"
)

const (
	serialsCheck = "serials"

	maxRows = 1000 // number of rows that are read from a table

	// maxChars is how many characters of a text are read. Serial numbers and IDs are
	// shorter.
	maxChars = 100
)

// A serialColumn is a text column in a table of Snowflake IDs. It may hold serial numbers,
// which are readable numbers that package serial makes from IDs.
type serialColumn struct {
	*readonly.Table
	name   string
	unique bool // whether an index keeps it unique
}

// String returns the table and the column, for example orders.number.
func (c *serialColumn) String() string { return c.Table.String() + "." + c.name }

// checkSerials checks the columns of serial numbers in tables of Snowflake IDs. A text column
// counts as a column of serial numbers if most of its newest values are serial numbers.
func (d *doctor) checkSerials() {
	numbers, err := serials.New(d.layout, "")
	if err != nil {
		d.warnUnchecked(serialsCheck, "", err)
		return
	}
	for i := range d.tables {
		t := &d.tables[i]
		if !t.Snowflake {
			continue
		}
		columns, err := d.textColumns(t)
		d.warnUnchecked(serialsCheck, t.String(), err)
		for _, column := range columns {
			d.warnUnchecked(serialsCheck, column.String(), d.checkSerial(numbers, &column))
		}
	}
}

// checkSerial reports a column of serial numbers that no index keeps unique, and the values in
// it that are not serial numbers. A text column counts as a column of serial numbers if more
// than half of its newest values are serial numbers. For any other column, checkSerial reports
// no finding.
func (d *doctor) checkSerial(numbers *serials.Reader, c *serialColumn) error {
	values, err := d.newestValues(c)
	if err != nil {
		return err
	}
	invalid := slices.DeleteFunc(slices.Clone(values), func(value string) bool {
		_, err := numbers.Parse(value)
		return err == nil
	})
	if 2*len(invalid) >= len(values) {
		return nil
	}
	before := len(d.report.Findings) // to see below whether this column has a finding
	if !c.unique {
		d.reportNotUnique(c, values)
	}
	if len(invalid) > 0 {
		_, err := numbers.Parse(invalid[0])
		d.report.problem(serialsCheck, c.String(), fmt.Sprintf("%d of the newest %d values are not serial numbers: %v", len(invalid), len(values), err), "correct them")
	}
	if len(d.report.Findings) == before {
		d.report.ok(serialsCheck, c.String(), fmt.Sprintf("a unique index keeps them apart, and the newest %d values are serial numbers", len(values)))
	}
	return nil
}

// reportNotUnique reports a column that no index keeps unique. values are its newest values.
// Duplicates among them are a problem; otherwise, the finding is a warning.
func (d *doctor) reportNotUnique(c *serialColumn, values []string) {
	fix := fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s)", d.Quote(c.Table.Name+"_"+c.name), d.Quote(c.Schema, c.Table.Name), d.Quote(c.name))
	where := fmt.Sprintf("among the newest %d values", len(values))
	if repeated := duplicates(values); len(repeated) > 0 {
		d.report.problem(serialsCheck, c.String(), fmt.Sprintf("there are duplicates %s, and no index keeps them out: %s", where, joinNames(repeated)), "correct the rows, then "+fix)
		return
	}
	d.report.warn(serialsCheck, c.String(), "no index keeps them unique; there is no duplicate "+where, fix)
}

// duplicates returns the values that occur several times, each once.
func duplicates(values []string) []string {
	sorted := slices.Sorted(slices.Values(values))
	var twice []string
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			twice = append(twice, sorted[i])
		}
	}
	return slices.Compact(twice)
}

// textSQL has, for each dialect, the query for the text columns of a table, and for each
// column whether a unique index consists of this column alone. Partial indexes, and in MySQL
// indexes of a prefix of the column (SUB_PART), do not count. The parameters are the schema,
// which is empty for the current schema, and the table.
var textSQL = map[string]string{
	"sqlite": `SELECT c.name, EXISTS (SELECT 1 FROM pragma_index_list(?2) l WHERE l."unique" AND NOT l.partial
  AND (SELECT count(*) = 1 AND max(i.name) = c.name COLLATE NOCASE FROM pragma_index_info(l.name) i))
FROM pragma_table_info(?2) c WHERE ?1 = '' AND (c.type LIKE '%CHAR%' OR c.type LIKE '%TEXT%') ORDER BY c.cid`,
	"mysql": `SELECT COLUMN_NAME, COALESCE(COLUMN_NAME IN (SELECT MAX(COLUMN_NAME) FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?
  GROUP BY INDEX_NAME HAVING MAX(NON_UNIQUE) = 0 AND COUNT(*) = 1 AND COUNT(SUB_PART) = 0), 0)
FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND DATA_TYPE IN ('char', 'varchar', 'tinytext', 'text') ORDER BY ORDINAL_POSITION`,
	"postgres": `SELECT a.attname, EXISTS (SELECT FROM pg_index i
  WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indnkeyatts = 1 AND i.indisunique AND i.indisvalid AND i.indpred IS NULL)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = coalesce(nullif($1, ''), current_schema()) AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
  AND a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) ORDER BY a.attnum`,
}

// textColumns returns the text columns of a table.
func (d *doctor) textColumns(t *readonly.Table) ([]serialColumn, error) {
	args := []any{t.Schema, t.Name}
	if d.Dialect == "mysql" { // MySQL's placeholders have no numbers, so the arguments are repeated
		args = slices.Concat(args, args)
	}
	return readonly.Rows(d.Database, textSQL[d.Dialect], args, func(c *serialColumn) []any {
		c.Table = t
		return []any{&c.name, &c.unique}
	})
}

// newestValues returns the values of the column in the newest maxRows rows, without NULL and
// cut to maxChars characters. The newest rows have the largest keys, because a Snowflake ID
// begins with its time.
func (d *doctor) newestValues(c *serialColumn) ([]string, error) {
	query := fmt.Sprintf("SELECT v FROM (SELECT SUBSTR(%s, 1, %d) AS v FROM %s AS t ORDER BY %s DESC LIMIT %d) AS newest WHERE v IS NOT NULL",
		d.Quote("t", c.name), maxChars, d.Quote(c.Schema, c.Table.Name), d.Quote("t", c.Key), maxRows)
	return readonly.Rows(d.Database, query, nil, func(value *string) []any { return []any{value} })
}
