package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/serial"
)

// lookups is how many values are looked up at once.
const lookups = 200

// A serialView is what is seen of a column of serial numbers.
type serialView struct {
	rows   int
	odd    int
	sample string // an error of the first odd value
}

func (d *doctor) checkSerial(c *serialColumn) error {
	unique, indexed, err := d.indexes(c)
	if err != nil {
		return err
	}
	values, err := d.values(c, newest)
	if err != nil {
		return err
	}
	if c.format == nil {
		if c.format, err = bestFormat(c.code, d.layout, values); err != nil {
			return err
		}
	}
	before := len(d.report.Findings)
	if !unique {
		if err := d.checkUnique(c, values, indexed); err != nil {
			return err
		}
	}
	view := viewOf(c.format, slices.Values(values))
	of := "of the newest"
	if d.flags.deep {
		of = "of all"
		if view, err = d.viewAll(c); err != nil {
			return err
		}
	}
	if view.odd > 0 {
		d.report.problem(serialsCheck, c.String(), fmt.Sprintf("%d %s %d values are no serial numbers of %s: %s", view.odd, of, view.rows, c.code, view.sample), "correct them, or give the code that the column has with --serial")
	}
	if len(d.report.Findings) == before {
		d.report.ok(serialsCheck, c.String(), fmt.Sprintf("a unique index keeps them apart, and %d %s values are serial numbers of %s", view.rows, of, c.code))
	}
	return nil
}

// viewOf reads the values.
func viewOf(f *serial.Format, values func(yield func(string) bool)) serialView {
	var view serialView
	for value := range values {
		view.add(f, value)
	}
	return view
}

func (v *serialView) add(f *serial.Format, value string) {
	v.rows++
	if _, err := f.Parse(value); err != nil {
		v.odd++
		if v.odd == 1 {
			v.sample = err.Error()
		}
	}
}

func (d *doctor) viewAll(c *serialColumn) (view serialView, err error) {
	column := d.quote("t", c.column)
	query := fmt.Sprintf("SELECT SUBSTR(%s, 1, %d) FROM %s AS t WHERE %s IS NOT NULL", column, maxSerial, d.quote(c.schema, c.table), column)
	err = d.each(query, nil, func(scan func(...any) error) error {
		var value string
		if err := scan(&value); err != nil {
			return err
		}
		view.add(c.format, value)
		return nil
	})
	return view, err
}

// checkUnique is for a column that no index keeps unique.
func (d *doctor) checkUnique(c *serialColumn, values []string, indexed bool) error {
	fix := fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s)", d.quote(c.table+"_"+c.column), d.quote(c.schema, c.table), d.quote(c.column))
	repeated, where, err := d.repeated(c, values, indexed)
	if err != nil {
		return err
	}
	if len(repeated) == 0 {
		d.report.warn(serialsCheck, c.String(), "no index keeps them unique; there is no duplicate among "+where, fix)
		return nil
	}
	d.report.problem(serialsCheck, c.String(), fmt.Sprintf("there are duplicates among %s, and no index keeps them out: %s", where, shortList(repeated)), "correct the rows, then "+fix)
	return nil
}

// repeated are values that are there more than once: among all, or as far as an
// index or the newest rows tell.
func (d *doctor) repeated(c *serialColumn, values []string, indexed bool) (repeated []string, where string, err error) {
	switch {
	case d.flags.deep:
		repeated, err = d.grouped(c, "IS NOT NULL", nil)
		return repeated, "all values", err
	case indexed:
		for batch := range slices.Chunk(values, lookups) {
			args := make([]any, len(batch))
			for i, value := range batch {
				args[i] = value
			}
			found, err := d.grouped(c, "IN ("+d.parameters(len(args))+")", args)
			if err != nil {
				return nil, "", err
			}
			repeated = append(repeated, found...)
		}
		slices.Sort(repeated)
		return slices.Compact(repeated), fmt.Sprintf("the newest %d values and what equals them (--deep looks at all)", len(values)), nil
	}
	slices.Sort(values)
	for i := 1; i < len(values); i++ {
		if values[i] == values[i-1] {
			repeated = append(repeated, values[i])
		}
	}
	return slices.Compact(repeated), fmt.Sprintf("the newest %d values (--deep looks at all)", len(values)), nil
}

func (d *doctor) grouped(c *serialColumn, condition string, args []any) (repeated []string, err error) {
	column := d.quote("t", c.column)
	query := fmt.Sprintf("SELECT %s FROM %s AS t WHERE %s %s GROUP BY %s HAVING COUNT(*) > 1 ORDER BY %s LIMIT %d",
		column, d.quote(c.schema, c.table), column, condition, column, column, lookups)
	err = d.each(query, args, func(scan func(...any) error) error {
		var value string
		err := scan(&value)
		repeated = append(repeated, value)
		return err
	})
	return repeated, err
}

// parameters are n of them, as the database wants them.
func (d *doctor) parameters(n int) string {
	marks := make([]string, n)
	for i := range marks {
		marks[i] = "?"
		if d.dialect == "postgres" {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
	}
	return strings.Join(marks, ", ")
}

// indexSQL asks whether an index keeps a column unique by itself, and whether
// one begins with it.
var indexSQL = map[string]string{
	"sqlite": `SELECT coalesce(max(l."unique" AND NOT l.partial AND (SELECT count(*) FROM pragma_index_info(l.name)) = 1), 0), count(*) > 0
FROM pragma_index_list(?2) l WHERE ?1 = '' AND (SELECT name FROM pragma_index_info(l.name) WHERE seqno = 0) = ?3 COLLATE NOCASE`,
	"mysql": `SELECT COALESCE(MAX(alone), 0), COUNT(*) > 0 FROM (
  SELECT MAX(NON_UNIQUE) = 0 AND COUNT(*) = 1 AND COUNT(SUB_PART) = 0 AS alone FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?
  GROUP BY INDEX_NAME HAVING MAX(SEQ_IN_INDEX = 1 AND COLUMN_NAME = ?)) AS i`,
	"postgres": `SELECT coalesce(bool_or(i.indisunique AND i.indnkeyatts = 1), false), count(*) > 0
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
WHERE n.nspname = coalesce(nullif($1, ''), current_schema()) AND c.relname = $2 AND a.attname = $3 AND i.indisvalid AND i.indpred IS NULL`,
}

func (d *doctor) indexes(c *serialColumn) (unique, indexed bool, err error) {
	err = d.ask(indexSQL[d.dialect], []any{c.schema, c.table, c.column}, &unique, &indexed)
	return unique, indexed, err
}

// shortList names the first few.
func shortList(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
