package mysql

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// insertTriggersSQL returns the triggers that can change a row before it is inserted, and
// so assign its key. The schema of a table is empty for the current database.
const insertTriggersSQL = "SELECT IF(TRIGGER_SCHEMA = DATABASE(), '', TRIGGER_SCHEMA), EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS " +
	"WHERE TRIGGER_SCHEMA IN (%s) AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION = 'INSERT' ORDER BY 1, 2, 3"

// Assigning implements [engine.Copies]. It returns the triggers whose text sets a key that
// programs must give after the move. It only analyzes the text. It cannot try the trigger,
// because a temporary table has no triggers, and a trigger on another table might write to
// any table.
func (r *trial) Assigning(ctx context.Context) (found []engine.Assigning, err error) {
	triggers, err := readRows[struct {
		Table      plan.TableName
		Name, Body string
	}](ctx, r, fmt.Sprintf(insertTriggersSQL, r.schemas()))
	for _, t := range triggers {
		// r.copies has the copies of r.Trial.Tables, in the same order.
		i := slices.IndexFunc(r.copies, func(c *tableCopy) bool { return c.TableName == t.Table })
		if i >= 0 && sqltext.Sets(t.Body, bodyRules, r.Unassigned(r.Trial.Tables[i])) {
			fix := r.dropAndRestore(ctx, "TRIGGER", plan.TableName{Schema: t.Table.Schema, Name: t.Name})
			found = append(found, engine.Assigning{Table: t.Table, Trigger: t.Name, Fix: fix})
		}
	}
	return found, err
}

// codesSQL returns the routines, events and triggers of the databases of the tables that
// contain INSERT or REPLACE, and the triggers with UPDATE. Its columns are the description
// of the object, whether a write fires it (1 for a trigger), its text, and the table of a
// trigger. The server shows a text only to its definer, and to accounts with the right to
// see it.
const codesSQL = "SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_NAME), 0, COALESCE(ROUTINE_DEFINITION, ''), '', '' FROM information_schema.ROUTINES " +
	"WHERE ROUTINE_SCHEMA IN (%[1]s) AND LOWER(ROUTINE_DEFINITION) REGEXP 'insert|replace' " +
	"UNION ALL SELECT CONCAT('event ', EVENT_NAME), 0, EVENT_DEFINITION, '', '' FROM information_schema.EVENTS WHERE EVENT_SCHEMA IN (%[1]s) AND LOWER(EVENT_DEFINITION) REGEXP 'insert|replace' " +
	"UNION ALL SELECT CONCAT('trigger ', TRIGGER_NAME, ' on table ', EVENT_OBJECT_TABLE), 1, ACTION_STATEMENT, IF(TRIGGER_SCHEMA = DATABASE(), '', TRIGGER_SCHEMA), EVENT_OBJECT_TABLE " +
	"FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA IN (%[1]s) AND LOWER(ACTION_STATEMENT) REGEXP 'insert|replace|update' ORDER BY 1"

// narrowColumnsSQL returns the columns of a table that cannot hold a Snowflake ID, with
// their positions from 0 on. The schema is empty if it is the current database, as in the
// names of a plan.
const narrowColumnsSQL = "SELECT IF(TABLE_SCHEMA = DATABASE(), '', TABLE_SCHEMA), TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION - 1, COLUMN_TYPE FROM information_schema.COLUMNS " +
	"WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'float', 'double')"

// insertViewsSQL returns the views that the server can update, with the text of their
// queries.
const insertViewsSQL = "SELECT CONCAT('view ', TABLE_NAME), VIEW_DEFINITION FROM information_schema.VIEWS " +
	"WHERE TABLE_SCHEMA IN (%s) AND IS_UPDATABLE = 'YES' ORDER BY 1"

// singleTable matches the text that the server keeps of a view on a single table, for
// example select `shop`.`orders`.`total` AS `total` from `shop`.`orders`. It captures
// the selected columns, and the schema and name of the table.
var singleTable = regexp.MustCompile("(?s)^select (.*?) from `([^`]+)`\\.`([^`]+)`")

// shownColumn matches a column in the list of singleTable, for example .`total` AS `, and
// captures its name in the table.
var shownColumn = regexp.MustCompile("\\.`([^`]+)` AS `")

// insertViews returns the views on a single table into which programs can insert. Each has
// an Insert with the columns of the table that the view shows, because a program can give
// only these. A view of several tables is not recognized.
func (r *trial) insertViews(ctx context.Context) (codes []engine.Code, err error) {
	views, err := readRows[struct{ Object, Text string }](ctx, r, fmt.Sprintf(insertViewsSQL, r.schemas()))
	for _, v := range views {
		m := singleTable.FindStringSubmatch(v.Text)
		if m == nil {
			continue
		}
		// Columns is not nil, because nil means an INSERT without a list of columns.
		insert := sqltext.Insert{Schema: m[2], Table: m[3], Columns: []string{}}
		for _, column := range shownColumn.FindAllStringSubmatch(m[1], -1) {
			insert.Columns = append(insert.Columns, column[1])
		}
		codes = append(codes, engine.Code{Object: v.Object, View: true, Inserts: []sqltext.Insert{insert}})
	}
	return codes, err
}

// Codes implements [engine.Copies]. It returns the routines, events and triggers with the
// INSERT statements in their texts. For a trigger on a table of the trial, it also finds
// the narrow columns into which the trigger writes a key. It adds the views into which
// programs can insert.
func (r *trial) Codes(ctx context.Context) (codes []engine.Code, err error) {
	texts, err := readRows[struct {
		Object string
		Fires  bool
		Text   string
		Table  plan.TableName
	}](ctx, r, fmt.Sprintf(codesSQL, r.schemas()))
	for _, t := range texts {
		code := engine.Code{Object: t.Object, Fires: t.Fires, Table: t.Table, Inserts: sqltext.Inserts(t.Text, bodyRules)}
		for _, table := range r.Trial.Tables {
			if table.TableName() == t.Table && err == nil {
				err = r.findNarrow(ctx, &code, table, slices.Concat(code.Inserts, sqltext.Updates(t.Text, bodyRules)))
			}
		}
		codes = append(codes, code)
	}
	if err != nil {
		return nil, err
	}
	views, err := r.insertViews(ctx)
	return append(codes, views...), err
}

// findNarrow adds to code.Narrow the columns into which a trigger of table writes a key of
// this table (NEW.id), if a column is too narrow for the key and the plan does not widen
// the column. writes are the INSERT and UPDATE statements of the trigger.
func (r *trial) findNarrow(ctx context.Context, code *engine.Code, table plan.Table, writes []sqltext.Insert) error {
	for _, in := range writes {
		into := plan.TableName{Schema: cmp.Or(in.Schema, table.Schema), Name: in.Table}
		narrow, err := readRows[struct {
			Table plan.TableName
			Name  string
			Place int
			Type  string
		}](ctx, r, fmt.Sprintf(narrowColumnsSQL, mycatalog.SchemaOf(into), mycatalog.Literal(into.Name)))
		if err != nil {
			return err
		}
		for _, key := range table.Columns {
			// The names of the columns or, without a list of columns, their positions.
			columns, places := in.Targets(key.Name)
			for _, n := range narrow {
				written := slices.Contains(places, n.Place) || slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, n.Name) })
				if written && !r.widens(n.Table, n.Name) {
					code.Narrow = engine.AppendNew(code.Narrow, fmt.Sprintf("column %s of table %s, of type %s", n.Name, in.Table, n.Type))
				}
			}
		}
	}
	return nil
}

// widens reports whether the plan widens a narrow column. The plan widens each narrow
// column that is listed in the tables of the trial, because these columns hold keys.
func (r *trial) widens(t plan.TableName, column string) bool {
	return slices.ContainsFunc(r.Trial.Tables, func(table plan.Table) bool {
		return table.TableName() == t && slices.ContainsFunc(table.Columns, func(c plan.Column) bool { return c.Name == column })
	})
}
