package mysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// A MODIFY and an ADD CONSTRAINT repeat the whole of what was inspected, so
// they would silently put it back where somebody has changed it since, or where
// files are run on another database. The statements in this file refuse that
// before a phase begins. They leave alone what the phase leaves out because it
// is done already.

// These describe a column as the catalog has it, without what a phase changes.
// A default loses its zeros in front when ZEROFILL goes.
const (
	defaultIs = "QUOTE(TRIM(LEADING '0' FROM COLUMN_DEFAULT))"
	restIs    = "CONCAT_WS(' ', IS_NULLABLE, QUOTE(COLLATION_NAME), QUOTE(" +
		"REPLACE(REPLACE(REPLACE(REPLACE(EXTRA, 'auto_increment', ''), 'DEFAULT_GENERATED', ''), ',', ''), ' ', '')), QUOTE(COLUMN_COMMENT))"
	noDefault = "NULL"
)

// exactly compares all bytes: the catalog takes letters of either case and
// with or without an accent for equal.
func exactly(expression, value string) string {
	return "CAST(" + expression + " AS BINARY) = CAST(" + literal(value) + " AS BINARY)"
}

// unchanged is a condition: the column is as it was inspected, with its old
// type or the new one.
func (c *column) unchanged(auto bool, preset string) string {
	extra := "EXTRA NOT LIKE '%auto_increment%'"
	if auto {
		extra = "EXTRA LIKE '%auto_increment%'"
	}
	typ := "(" + c.typ().condition() + ")"
	if c.widens() {
		typ += " OR (" + c.wide.condition() + ")"
	}
	is := "(" + hasColumn(c, strings.Join([]string{
		"(" + typ + ")", extra, exactly(defaultIs, preset), exactly(restIs, c.rest),
	}, " AND ")) + ")"
	return strings.Join(append([]string{is}, c.countsChecks()...), "\nAND ")
}

// unchanged are conditions by table.
type unchanged map[engine.TableName][]string

func (u unchanged) rejections() []engine.Statement {
	var tables []engine.TableName
	for t := range u {
		tables = append(tables, t)
	}
	slices.SortFunc(tables, func(a, b engine.TableName) int { return strings.Compare(a.String(), b.String()) })
	statements := make([]engine.Statement, len(tables))
	for i, t := range tables {
		statements[i] = rejectUnless(fmt.Sprintf("sqlmigrate: refused: table %s has changed since it was inspected: inspect it again (or the account may not ALTER it)", t),
			"SELECT "+strings.Join(u[t], "\nAND "))
	}
	return statements
}

// unchangedFor are the rejections of a phase, up or down.
func (in *inspection) unchangedFor(phase engine.PhaseName, down bool) []engine.Statement {
	u := unchanged{}
	if phase == engine.Detach {
		for _, c := range in.assigned() {
			u[c.table.name] = append(u[c.table.name], c.unassignedOr(down))
		}
		return u.rejections()
	}
	for _, columns := range byTable(in.widened()) {
		t := columns[0].table
		u[t.name] = append(u[t.name], in.widenedOr(columns, down))
	}
	for _, f := range in.dropped() {
		u[f.child] = append(u[f.child], f.unchanged())
	}
	return u.rejections()
}

func (in *inspection) widenedOr(columns []*column, down bool) string {
	done := (*column).wideType
	if down {
		done = (*column).typ
	}
	var unchanged []string
	for _, c := range columns {
		unchanged = append(unchanged, c.unchanged(c.definition.auto() >= 0, c.preset))
		if !down {
			unchanged = append(unchanged, c.repeatsChecks()...)
		}
	}
	if !down {
		for _, name := range in.ownIndexNames(columns[0].table) {
			unchanged = append(unchanged, columns[0].table.unchangedIndex(name))
		}
	}
	return "((" + columnsAre(columns, done) + ")\nOR " + strings.Join(unchanged, "\nAND ") + ")"
}

func (c *column) unassignedOr(down bool) string {
	with, without := c.isAssigned()
	auto, preset := c.definition.auto() >= 0, c.preset
	done := without
	if down {
		done = with
		if !auto {
			preset = noDefault
		}
		auto = false
	}
	return "((" + done + ")\nOR " + c.unchanged(auto, preset) + ")"
}

// unchanged is a condition: the foreign key is as it was inspected, or away
// while there is a journal, see missing.
func (f foreignKey) unchanged() string {
	same := make([]string, len(f.columns))
	for i := range f.columns {
		same[i] = fmt.Sprintf("(ORDINAL_POSITION = %d AND COLUMN_NAME = %s AND REFERENCED_COLUMN_NAME = %s)",
			i+1, literal(f.columns[i]), literal(f.refers[i]))
	}
	name, n := literal(f.name), len(f.columns)
	columns := fmt.Sprintf("(SELECT COUNT(*) = %d AND SUM(REFERENCED_TABLE_SCHEMA = %s AND REFERENCED_TABLE_NAME = %s AND (%s)) = %d "+
		"FROM information_schema.KEY_COLUMN_USAGE WHERE %s AND CONSTRAINT_NAME = %s AND REFERENCED_TABLE_NAME IS NOT NULL)",
		n, schemaOf(f.parent), literal(f.parent.Name), strings.Join(same, " OR "), n, whereTable(f.child), name)
	rules := fmt.Sprintf("(SELECT COUNT(*) = 1 FROM information_schema.REFERENTIAL_CONSTRAINTS "+
		"WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s AND CONSTRAINT_NAME = %s AND DELETE_RULE IN (%s) AND UPDATE_RULE IN (%s))",
		schemaOf(f.child), literal(f.child.Name), name, f.rule("DELETE"), f.rule("UPDATE"))
	away := "(" + hasNone(f.child, foreignKind, f.name) + ") AND " + hasJournal
	return "(" + columns + " AND " + rules + "\nOR " + away + ")"
}

// rule are the names of what happens on an event. InnoDB does the same for two
// of them, and servers differ in which one they leave out of the definition.
func (f foreignKey) rule(event string) string {
	for _, rule := range []string{"CASCADE", "SET NULL", "SET DEFAULT"} {
		clause := " ON " + event + " " + rule
		if find(f.text, func(s string, i int) bool { return strings.HasPrefix(s[i:], clause) }) >= 0 {
			return literal(rule)
		}
	}
	return "'RESTRICT', 'NO ACTION'"
}

// missing refuses foreign keys that are away although no earlier run has
// dropped them. It needs the journal to be there. It refuses only where that
// has been there before, because the others are refused already.
func missing(entries []entry) []engine.Statement {
	u := unchanged{}
	for _, e := range entries {
		if f, ok := e.foreignKey(); ok {
			u[f.child] = append(u[f.child], fmt.Sprintf("((%s) OR (SELECT COUNT(*) = 1 FROM %s WHERE id = '%s'))",
				hasAll(f.child, foreignKind, f.name), quote(journalTable), e.id()))
		}
	}
	return u.rejections()
}

const indexIs = "CONCAT_WS(' ', SEQ_IN_INDEX, NON_UNIQUE, QUOTE(COLUMN_NAME), QUOTE(SUB_PART), QUOTE(COLLATION), INDEX_TYPE, QUOTE(INDEX_COMMENT))"

// readIndexes takes what the catalog says of each column of each index.
func (in *inspection) readIndexes(t *table) error {
	t.indexes = map[string][]string{}
	query := "SELECT INDEX_NAME, " + indexIs + " FROM information_schema.STATISTICS WHERE " + whereTable(t.name) + " ORDER BY INDEX_NAME, SEQ_IN_INDEX"
	return in.query(query, func(scan func(...any) error) error {
		var name, is string
		if err := scan(&name, &is); err != nil {
			return err
		}
		t.indexes[name] = append(t.indexes[name], is)
		return nil
	})
}

// unchangedIndex is a condition: the index is there, as it was inspected.
func (t *table) unchangedIndex(name string) string {
	is := t.indexes[name]
	same := make([]string, len(is))
	for i, s := range is {
		same[i] = exactly(indexIs, s)
	}
	n := strconv.Itoa(len(is))
	return "(SELECT COUNT(*) = " + n + " AND SUM(" + strings.Join(same, " OR ") + ") = " + n +
		" FROM information_schema.STATISTICS WHERE " + whereTable(t.name) + " AND INDEX_NAME = " + literal(name) + ")"
}
