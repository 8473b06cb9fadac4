// Package mycatalog reads the catalog of MySQL and MariaDB for packages mysql and myonline.
// A [Table] describes a table, with the foreign keys and the definitions of columns that it
// had before an unfinished run. The methods of a Table return conditions with which a
// statement checks that the table has not changed since the Table was read.
//
// [Open], [Read], [Definitions] and the methods of [Reader] send queries (reader.go). All
// other functions and methods only compute. table.go describes tables, and definition.go
// reads the text of SHOW CREATE TABLE.
package mycatalog

import (
	"fmt"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// Quote quotes an identifier with backticks.
func Quote(name string) string { return QuoteTable(plan.TableName{Name: name}) }

// QuoteTable quotes the name of a table, with its schema if it has one, for example
// `audit`.`orders`.
func QuoteTable(t plan.TableName) string { return t.Quoted("`") }

// escaper escapes the characters of a string literal.
var escaper = strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`)

// Literal returns a string as an SQL literal. It doubles quotes, and it escapes
// backslashes, because in the SQL mode that package mysql sets, a backslash is an escape
// character.
func Literal(s string) string { return "'" + escaper.Replace(s) + "'" }

// Literals returns strings as SQL literals for an IN list or a row of VALUES, for example
// 'a', 'b'.
func Literals(list []string) string { return Join(list, ", ", Literal) }

// Join joins the texts of all elements of list, with separator between them. text returns
// the text of an element.
func Join[T any](list []T, separator string, text func(T) string) string {
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = text(element)
	}
	return strings.Join(texts, separator)
}

// WhereTable returns the condition by which a query of a view of information_schema
// selects the rows of a table.
func WhereTable(t plan.TableName) string {
	return "TABLE_SCHEMA = " + SchemaOf(t) + " AND TABLE_NAME = " + Literal(t.Name)
}

// SchemaOf returns the schema of a table as an SQL expression. This is DATABASE() for the
// current database, so that statements of a plan also work in a database with another
// name.
func SchemaOf(t plan.TableName) string {
	if t.Schema == "" {
		return "DATABASE()"
	}
	return Literal(t.Schema)
}

// These expressions describe a row of information_schema.COLUMNS without the properties
// that a phase changes, so that two results are equal if nobody else has changed the
// column. presetSQL is the default of the column as a literal, or the text NULL if the
// column has no default. It is without leading zeros, because a default loses its leading
// zeros together with ZEROFILL. restSQL has the other properties, except the type. From
// EXTRA it removes auto_increment, and the words that servers write differently.
const (
	presetSQL = "QUOTE(TRIM(LEADING '0' FROM COLUMN_DEFAULT))"
	restSQL   = "CONCAT_WS(' ', IS_NULLABLE, QUOTE(COLLATION_NAME), QUOTE(" +
		"REPLACE(REPLACE(REPLACE(REPLACE(EXTRA, 'auto_increment', ''), 'DEFAULT_GENERATED', ''), ',', ''), ' ', '')), QUOTE(COLUMN_COMMENT))"
)

// indexSQL is an expression for the properties of a row of information_schema.STATISTICS,
// which is a column of an index.
const indexSQL = "CONCAT_WS(' ', SEQ_IN_INDEX, NON_UNIQUE, QUOTE(COLUMN_NAME), QUOTE(SUB_PART), QUOTE(COLLATION), INDEX_TYPE, QUOTE(INDEX_COMMENT))"

// exactly returns a condition that an SQL expression has the value. It compares bytes,
// because the collation of the catalog would ignore case and accents.
func exactly(expression, value string) string {
	return "CAST(" + expression + " AS BINARY) = CAST(" + Literal(value) + " AS BINARY)"
}

// Has returns a query that is true if the column exists and the conditions hold for its
// row of information_schema.COLUMNS. For example, the condition COLUMN_DEFAULT IS NULL
// asks whether the column has no default.
func (c *Column) Has(conditions ...string) string {
	return fmt.Sprintf("SELECT COUNT(*) = 1 FROM information_schema.COLUMNS WHERE %s AND COLUMN_NAME = %s AND %s",
		WhereTable(c.Table.TableName), Literal(c.Name), strings.Join(conditions, " AND "))
}

// Same returns a condition for [Column.Has] that nobody has changed the column since it was
// read. It ignores the type, AUTO_INCREMENT and the generation expression. It compares the
// default of the column with preset, and not with c.Preset, because a phase may have
// removed the default since. preset has the form of Column.Preset.
func (c *Column) Same(preset string) string {
	return exactly(presetSQL, preset) + " AND " + exactly(restSQL, c.Rest)
}

// AndChecks returns a condition, beginning with AND, that the column has as many checks as
// at the inspection. If texts is true, the checks must also have the same texts. The
// caller passes false if the type of the column may have changed, because the server then
// writes the texts differently, for example 1000 for 1e3.
//
// The condition only matters on MariaDB, where a CHECK can belong to a column, and the
// catalog gives it the name of the column. A MODIFY of the column drops such a CHECK unless
// the statement repeats the CHECK. In MySQL every CHECK belongs to the table, and MODIFY
// does not change it, so AndChecks returns "".
func (c *Column) AndChecks(texts bool) string {
	if c.Table.checks == nil {
		return ""
	}
	checks := c.Table.checks[strings.ToLower(c.Name)]
	from := c.Table.fromChecks() + " AND CONSTRAINT_NAME = " + Literal(c.Name)
	and := fmt.Sprintf("\nAND (SELECT COUNT(*) = %d %s)", len(checks), from)
	if texts && len(checks) > 0 {
		same := Join(checks, " OR ", func(check string) string { return exactly("CHECK_CLAUSE", check) })
		and += fmt.Sprintf("\nAND (SELECT SUM(%s) = %d %s)", same, len(checks), from)
	}
	return and
}

// fromChecks returns the FROM and WHERE clauses of a query for the checks of the table.
// Only MariaDB has the column TABLE_NAME in this view.
func (t *Table) fromChecks() string {
	return fmt.Sprintf("FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s", SchemaOf(t.TableName), Literal(t.Name))
}

// IndexUnchanged returns a condition that the index with this name exists as it was
// inspected. It compares the number of columns of the index, and the properties of each
// column.
func (t *Table) IndexUnchanged(name string) string {
	parts := t.Indexes[name]
	return fmt.Sprintf("(SELECT COUNT(*) = %[1]d AND SUM(%[2]s) = %[1]d FROM information_schema.STATISTICS WHERE %[3]s AND INDEX_NAME = %[4]s)",
		len(parts), Join(parts, " OR ", func(part string) string { return exactly(indexSQL, part) }), WhereTable(t.TableName), Literal(name))
}

// Fingerprint returns an SQL expression for a text that changes when somebody changes the
// table in the catalog, except its triggers. The text is the number of rows that describe
// the table in the catalog, and a number that the server computes from these rows. To
// compute it, the server hashes each row, and combines 64 bits of each hash by XOR, so that
// the order of the rows does not matter. The rows are the columns, the indexes, the
// constraints, the columns of foreign keys, and the actions (ON DELETE, ON UPDATE) of the
// foreign keys from and to the table.
func (t *Table) Fingerprint() string {
	return fmt.Sprintf("(SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CAST(CONV(LEFT(SHA2(state, 256), 16), 16, 10) AS UNSIGNED))) FROM (\n"+
		"  SELECT CONCAT_WS(' ', BINARY 'column', QUOTE(COLUMN_NAME), COLUMN_TYPE, "+presetSQL+", "+restSQL+", QUOTE(GENERATION_EXPRESSION)) AS state FROM information_schema.COLUMNS WHERE %[1]s\n"+
		"  UNION ALL SELECT CONCAT_WS(' ', BINARY 'index', QUOTE(INDEX_NAME), "+indexSQL+") FROM information_schema.STATISTICS WHERE %[1]s\n"+
		"  UNION ALL SELECT CONCAT_WS(' ', BINARY CONSTRAINT_TYPE, CONSTRAINT_NAME) FROM information_schema.TABLE_CONSTRAINTS WHERE %[1]s\n"+
		"  UNION ALL SELECT CONCAT_WS(' ', BINARY 'refers', QUOTE(CONSTRAINT_NAME), ORDINAL_POSITION, QUOTE(COLUMN_NAME), REFERENCED_TABLE_SCHEMA = TABLE_SCHEMA, QUOTE(REFERENCED_TABLE_NAME), QUOTE(REFERENCED_COLUMN_NAME)) FROM information_schema.KEY_COLUMN_USAGE WHERE %[1]s\n"+
		"  UNION ALL SELECT CONCAT_WS(' ', BINARY 'rules', QUOTE(CONSTRAINT_NAME), QUOTE(TABLE_NAME), DELETE_RULE, UPDATE_RULE) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() AND %[2]s IN (TABLE_NAME, REFERENCED_TABLE_NAME)) AS states)",
		WhereTable(t.TableName), Literal(t.Name))
}

// The kinds of constraints.
const (
	ForeignKind = "FOREIGN KEY"
	CheckKind   = "CHECK"
)

// HasAll returns a query that is true if the table has all constraints with these names.
// kind is ForeignKind or CheckKind.
func HasAll(t plan.TableName, kind string, names ...string) string {
	return constraintCount(t, kind, names, len(names))
}

// HasNone returns a query that is true if the table has no constraint of the kind with one
// of these names.
func HasNone(t plan.TableName, kind string, names ...string) string {
	return constraintCount(t, kind, names, 0)
}

// constraintCount returns a query that is true if the table has exactly n constraints of
// the kind with these names.
func constraintCount(t plan.TableName, kind string, names []string, n int) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.TABLE_CONSTRAINTS WHERE %s AND CONSTRAINT_TYPE = '%s' AND CONSTRAINT_NAME IN (%s)",
		n, WhereTable(t), kind, Literals(names))
}

// Unchanged returns a condition that the foreign key is as it was inspected. The condition
// is also true if the foreign key does not exist and the journal exists, because then an
// unfinished run may have dropped the foreign key.
func (f ForeignKey) Unchanged() string {
	same := make([]string, len(f.Columns))
	for i := range f.Columns {
		same[i] = fmt.Sprintf("(ORDINAL_POSITION = %d AND COLUMN_NAME = %s AND REFERENCED_COLUMN_NAME = %s)",
			i+1, Literal(f.Columns[i]), Literal(f.Refers[i]))
	}
	name, n := Literal(f.Name), len(f.Columns)
	// The catalog has exactly the n columns of the foreign key.
	columns := fmt.Sprintf("(SELECT COUNT(*) = %d AND SUM(REFERENCED_TABLE_SCHEMA = %s AND REFERENCED_TABLE_NAME = %s AND (%s)) = %d "+
		"FROM information_schema.KEY_COLUMN_USAGE WHERE %s AND CONSTRAINT_NAME = %s AND REFERENCED_TABLE_NAME IS NOT NULL)",
		n, SchemaOf(f.Parent), Literal(f.Parent.Name), strings.Join(same, " OR "), n, WhereTable(f.Child), name)
	// The actions of ON DELETE and ON UPDATE are the same.
	rules := fmt.Sprintf("(SELECT COUNT(*) = 1 FROM information_schema.REFERENTIAL_CONSTRAINTS "+
		"WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s AND CONSTRAINT_NAME = %s AND DELETE_RULE IN (%s) AND UPDATE_RULE IN (%s))",
		SchemaOf(f.Child), Literal(f.Child.Name), name, f.rule("DELETE"), f.rule("UPDATE"))
	return "(" + columns + " AND " + rules + "\nOR (" + HasNone(f.Child, ForeignKind, f.Name) + ") AND " + hasJournal + ")"
}

// Renamed returns the definition of the foreign key with another name, and with parent in
// place of the table to which it refers. In an online move, the shadow of the child gets
// this definition, so that it refers to the shadow of the parent.
func (f ForeignKey) Renamed(name string, parent plan.TableName) string {
	const references = " REFERENCES "
	text := strings.Replace(f.Text, Quote(f.Name), Quote(name), 1)
	// The name of the parent is between REFERENCES and the parenthesis of its columns.
	at := indexUnquoted(text, references) + len(references)
	return text[:at] + QuoteTable(parent) + " " + text[at+indexUnquoted(text[at:], "("):]
}

// rule returns the names that the catalog may show for the action of the foreign key on
// event, which is DELETE or UPDATE. It returns them as literals for an IN list, for example
// 'CASCADE'. If the definition has no action, or RESTRICT or NO ACTION, rule returns these
// two names. The two actions are the same in InnoDB. A server leaves one of the two out of
// the definition, and servers differ in which.
func (f ForeignKey) rule(event string) string {
	for _, rule := range []string{"CASCADE", "SET NULL", "SET DEFAULT"} {
		if indexUnquoted(f.Text, " ON "+event+" "+rule) >= 0 {
			return Literal(rule)
		}
	}
	return "'RESTRICT', 'NO ACTION'"
}

// Orphans returns a query for the orphans of the foreign key. These are the rows that
// violate it, because none of its columns is NULL and there is no parent with these
// values. The columns of the query are the primary key and the columns of the foreign key.
// t is the table with the foreign key.
func (t *Table) Orphans(f ForeignKey) string {
	var shown, set, same []string
	for _, c := range t.Key() {
		shown = append(shown, "c."+Quote(c.Name))
	}
	for i, name := range f.Columns {
		c := "c." + Quote(name)
		if !contains(shown, c) {
			shown = append(shown, c)
		}
		set = append(set, c+" IS NOT NULL")
		same = append(same, "p."+Quote(f.Refers[i])+" = "+c)
	}
	return fmt.Sprintf("SELECT %s FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)", strings.Join(shown, ", "),
		QuoteTable(f.Child), strings.Join(set, " AND "), QuoteTable(f.Parent), strings.Join(same, " AND "))
}
