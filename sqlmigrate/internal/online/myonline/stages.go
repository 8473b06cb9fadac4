package myonline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// stagesOf returns the stages of a move. tables must be sorted, parents first, because a
// row of a shadow needs its parent in the parent's shadow.
func stagesOf(tables []movingTable) []plan.Stage {
	prepare := plan.Stage{Name: plan.StagePrepare, Text: "make shadows with wide columns"}
	copying := plan.Stage{Name: plan.StageCopy, Text: "fill them by triggers and a copy, parents first"}
	index := plan.Stage{Name: plan.StageIndex, Text: "the shadows have theirs already"}
	constrain := plan.Stage{Name: plan.StageConstrain, Text: "compare all rows"}
	finish := plan.Stage{Name: plan.StageFinish, Text: "drop the old tables, and give foreign keys their names again", NoWayBack: "the old tables are dropped"}
	for _, s := range tables {
		prepare.Steps = append(prepare.Steps, orphanSteps(s)...)
	}
	// Tables are dropped before the parents to which their foreign keys refer.
	for _, s := range slices.Backward(tables) {
		copying.Back = append(copying.Back, dropTriggersStep(s))
		prepare.Back = append(prepare.Back, dropStep(s, shadowName(s.TableName), "drop its shadow"))
		finish.Steps = append(finish.Steps, dropStep(s, oldName(s.TableName), "drop the old table"))
	}
	for _, s := range tables {
		prepare.Steps = append(prepare.Steps, createStep(s))
		copying.Steps = append(copying.Steps, triggerStep(s), copyStep(s))
		constrain.Steps = append(constrain.Steps, compareStep(s))
		finish.Steps = append(finish.Steps, namesStep(s)...)
	}
	return []plan.Stage{prepare, copying, index, constrain, swapStage(tables), finish}
}

// step returns a step for the table. locks describes the locks that it takes, or is
// empty.
func (s movingTable) step(kind plan.StepKind, text, locks string, statements ...string) plan.OnlineStep {
	return plan.OnlineStep{Table: s.TableName, Kind: kind, Text: text, SQL: statements, Locks: locks}
}

// orphanSteps returns steps that look for rows that violate a foreign key. The shadow
// would refuse these rows, because it has the same foreign keys.
func orphanSteps(s movingTable) []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, f := range s.Foreign {
		step := s.step(plan.Verify, "look for rows that break foreign key "+f.Name, "", "SELECT COUNT(*) FROM ("+s.Orphans(f)+") orphan")
		// The server looks up each row in the parent, which takes it about 2.5 µs.
		step.Rows, step.Bytes, step.Estimate = s.Rows, s.Bytes, time.Duration(s.Rows)*2500*time.Nanosecond
		steps = append(steps, step)
	}
	return steps
}

// createStep returns the step that creates the shadow from the definition of the table.
// Its AUTO_INCREMENT starts at the value of the original.
func createStep(s movingTable) plan.OnlineStep {
	changes := mycatalog.Join(s.widenings, ", ", func(w widening) string { return w.Name + " becomes " + w.to.String() })
	return s.step(plan.Long, "make its shadow, in which "+changes, "nothing that programs use",
		"CREATE TABLE IF NOT EXISTS "+mycatalog.QuoteTable(shadowName(s.TableName))+" (\n  "+mycatalog.Join(s.Elements, ",\n  ", s.element)+"\n)"+s.Options)
}

// element returns an element of the shadow's definition. A widened column has its new
// type, and a foreign key has another name and refers to the parent's shadow.
func (s movingTable) element(e string) string {
	for _, w := range s.widenings {
		if string(w.Definition) == e {
			return string(w.Definition.As(w.to))
		}
	}
	for _, f := range s.Foreign {
		if f.Text == e {
			return f.Renamed(shadowForeignName(f), shadowName(f.Parent))
		}
	}
	if s.mysql {
		return namedCheck.ReplaceAllString(e, "CHECK ")
	}
	return e
}

// namedCheck matches a CHECK with a name. In a MySQL database, two tables cannot have a
// CHECK of the same name, so the shadow's CHECK has no name. The server then makes up a
// name, and changes it when it renames the table.
var namedCheck = regexp.MustCompile("^CONSTRAINT `((?:[^`]|``)+)` CHECK ")

// checkNotes returns notes on the CHECKs that lose their names. A statement that restores
// the name would copy the table.
func checkNotes(tables []movingTable) []string {
	var notes []string
	for _, s := range tables {
		for _, e := range s.Elements {
			if m := namedCheck.FindStringSubmatch(e); s.mysql && m != nil && !strings.HasPrefix(m[1], s.Name+"_chk_") {
				notes = append(notes, fmt.Sprintf("CHECK %s of table %s gets a name that MySQL makes up, %s_chk_ and a number: two tables of a database cannot have the same.", m[1], s, s.Name))
			}
		}
	}
	return notes
}

// writableColumns returns the columns that a statement can write, which are all except
// generated columns.
func (s movingTable) writableColumns() []*mycatalog.Column {
	return slices.DeleteFunc(slices.Clone(s.Columns), func(c *mycatalog.Column) bool { return c.Generated != "" })
}

// joinColumns returns, for each column, the text as with the name of the column in place
// of each ?, joined by the separator.
func joinColumns(columns []*mycatalog.Column, separator, as string) string {
	return mycatalog.Join(columns, separator, func(c *mycatalog.Column) string { return strings.ReplaceAll(as, "?", mycatalog.Quote(c.Name)) })
}

// sameKey returns a condition that two rows have the same primary key. one and other are
// the prefixes of the column names of the two rows, for example "OLD.".
func (s movingTable) sameKey(one, other string) string {
	return joinColumns(s.Key(), " AND ", one+"? = "+other+"?")
}

// triggerStep returns the step that creates the triggers, which repeat in the shadow what
// programs write. The trigger of an UPDATE also inserts the row, because its new key may
// be in a range that the copy has already passed.
func triggerStep(s movingTable) plan.OnlineStep {
	// The table is locked, so that no write comes between the creation of the triggers.
	from, shadow, columns := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), s.writableColumns()
	upsert := "INSERT INTO " + shadow + " (" + joinColumns(columns, ", ", "?") + ") VALUES (" + joinColumns(columns, ", ", "NEW.?") + ") ON DUPLICATE KEY UPDATE " + joinColumns(columns, ", ", "? = VALUES(?)")
	step := s.step(plan.Short, "triggers repeat in the shadow what programs write", "everybody waits for a moment, once for all three", "LOCK TABLES "+from+" WRITE")
	for _, trigger := range []struct{ event, body string }{
		{"DELETE", "DELETE FROM " + shadow + " WHERE " + s.sameKey("", "OLD.")},
		{"UPDATE", "BEGIN UPDATE " + shadow + " SET " + joinColumns(columns, ", ", "? = NEW.?") + " WHERE " + s.sameKey("", "OLD.") + "; " + upsert + "; END"},
		{"INSERT", upsert},
	} {
		name := mycatalog.Quote(triggerName(s.TableName, trigger.event))
		step.SQL = append(step.SQL, "DROP TRIGGER IF EXISTS "+name,
			"CREATE TRIGGER "+name+" AFTER "+trigger.event+" ON "+from+" FOR EACH ROW "+trigger.body)
	}
	step.SQL = append(step.SQL, "UNLOCK TABLES")
	return step
}

// events are the events of the triggers, in the order in which the triggers are dropped.
var events = []string{"INSERT", "UPDATE", "DELETE"}

// dropTriggersStep returns the step that drops the triggers.
func dropTriggersStep(s movingTable) plan.OnlineStep {
	step := s.step(plan.Short, "drop its triggers", "everybody waits for a moment, once for each of three")
	for _, event := range events {
		step.SQL = append(step.SQL, "DROP TRIGGER IF EXISTS "+mycatalog.Quote(triggerName(s.TableName, event)))
	}
	return step
}

// dropStep returns the step that drops the shadow or the old table, whose name is name.
func dropStep(s movingTable, name plan.TableName, text string) plan.OnlineStep {
	return s.step(plan.Long, text, "nothing that programs use", "DROP TABLE IF EXISTS "+mycatalog.QuoteTable(name))
}

// copyStep returns the step that copies the rows. It locks the rows that it reads, so
// that it never overwrites a row of the shadow with an older version than a trigger
// wrote.
func copyStep(s movingTable) plan.OnlineStep {
	from, shadow, columns, first := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), s.writableColumns(), mycatalog.Quote(s.Key()[0].Name)
	step := s.step(plan.Batches, "copy the rows that are there already", "rows of a batch: their writers wait until it is done",
		"INSERT INTO "+shadow+" ("+joinColumns(columns, ", ", "?")+") SELECT "+joinColumns(columns, ", ", "?")+" FROM "+from+
			" FORCE INDEX (PRIMARY) WHERE "+first+" > ? AND "+first+" <= ? LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE "+
			joinColumns(columns, ", ", shadow+".? = VALUES(?)"),
		s.endOfRange(),
		fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 1) - 1, COALESCE(MAX(%[1]s), 0) FROM %[2]s", first, from))
	// The estimate is three times that of a plain copy, on either server as for MariaDB,
	// because the run pauses for as long as each batch takes, and each batch is a
	// transaction.
	step.Rows, step.Bytes, step.Disk, step.Log, step.Estimate = s.Rows, s.Bytes, s.Bytes, 2*s.Bytes, 3*mysql.CopyTime(s.Table, true)
	return step
}

// endOfRange returns the query for the last key of a range. Its arguments are the key
// before the range, and the number of rows less one. It returns no row if fewer are left.
func (s movingTable) endOfRange() string {
	return fmt.Sprintf("SELECT %[1]s FROM %[2]s FORCE INDEX (PRIMARY) WHERE %[1]s > ? ORDER BY %[1]s LIMIT 1 OFFSET ?",
		mycatalog.Quote(s.Key()[0].Name), mycatalog.QuoteTable(s.TableName))
}

// compareStep returns the step that compares the rows of both tables. The first statement
// counts the rows that differ. It looks up each row of the table in the shadow, and then
// compares the numbers of rows. If the shadow has every row of the table, the difference of
// the two counts is the number of rows that only the shadow has. Counting is faster than a
// second join. The statement compares the bytes of texts, because a collation treats
// different texts as equal. In the query, t is the table and s the shadow.
//
// The other statements show in less than half of the time that no row differs; see
// equalInRanges.
func compareStep(s movingTable) plan.OnlineStep {
	same := mycatalog.Join(s.writableColumns(), " AND ", func(c *mycatalog.Column) string {
		name := mycatalog.Quote(c.Name)
		return bytesOf(c, "t."+name) + " <=> " + bytesOf(c, "s."+name)
	})
	from, shadow, key := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), mycatalog.Quote(s.Key()[0].Name)
	step := s.step(plan.Verify, "compare it with its shadow", "",
		"SELECT /* rows that differ */ (SELECT COUNT(*) FROM "+from+" t LEFT JOIN "+shadow+" s ON "+s.sameKey("s.", "t.")+" WHERE s."+key+" IS NULL OR NOT ("+same+")) + "+
			"ABS((SELECT COUNT(*) FROM "+shadow+") - (SELECT COUNT(*) FROM "+from+"))")
	if s.readsRanges() {
		step.SQL = append(step.SQL, "SELECT "+s.rangeAsText(s.TableName)+" = "+s.rangeAsText(shadowName(s.TableName)), s.endOfRange())
	}
	step.Rows, step.Bytes, step.Estimate = 2*s.Rows, 2*s.Bytes, time.Duration(s.Rows)*6*time.Microsecond
	return step
}

// bytesOf returns an expression for the bytes of a value, or for the value of an integer
// column. A float is compared as a double, because its own text has only six digits.
func bytesOf(c *mycatalog.Column, value string) string {
	switch {
	case c.Integer().Base != "":
		return value
	case strings.HasPrefix(strings.ToLower(c.Type), "float"):
		value += " + 0e0"
	}
	return "CAST(" + value + " AS BINARY)"
}

// readsRanges reports whether the server can read the rows between two values of the first
// column of the key without reading the whole table. It can if the primary key begins with
// this column. In the table, another column of the key may stand before it.
func (s movingTable) readsRanges() bool {
	return slices.ContainsFunc(s.Elements, func(e string) bool {
		return strings.HasPrefix(e, "PRIMARY KEY ("+mycatalog.Quote(s.Key()[0].Name))
	})
}

// rangeAsText returns an expression for the number of a table's rows between two keys, and
// their values. If the text is equal for two tables, their rows are. An integer is in it as
// digits, another value as the hexadecimal digits of its bytes, and NULL as a minus, so that
// no value contains a separator. If a value or the text of a row is longer than a packet of
// the server, a random number takes the place of the row, so that the texts differ. The rows
// are in the order of the primary key. If they were in different orders, the texts would
// differ although the rows do not.
func (s movingTable) rangeAsText(table plan.TableName) string {
	values := mycatalog.Join(s.writableColumns(), ", ',', ", func(c *mycatalog.Column) string {
		name := mycatalog.Quote(c.Name)
		if c.Integer().Base != "" {
			return "COALESCE(" + name + ", '-')"
		}
		return "IF(" + name + " IS NULL, '-', HEX(" + bytesOf(c, name) + "))" // NULL if it is longer than a packet
	})
	first := mycatalog.Quote(s.Key()[0].Name)
	return "CAST((SELECT CONCAT(COUNT(*), ' ', COALESCE(GROUP_CONCAT(COALESCE(CONCAT(" + values + "), RAND()) SEPARATOR ';'), '')) FROM " +
		mycatalog.QuoteTable(table) + " FORCE INDEX (PRIMARY) WHERE " + first + " > ? AND " + first + " <= ?) AS BINARY)"
}

// renamePrefix begins the statement that renames all tables.
const renamePrefix = "RENAME TABLE "

// swapStage returns the stage that renames all tables in a single RENAME, so that
// programs see either all old tables or all new tables. Before that, it checks that
// nobody has changed the tables.
func swapStage(tables []movingTable) plan.Stage {
	old := mycatalog.Join(tables, ", ", func(s movingTable) string { return mycatalog.Literal(oldName(s.TableName).Name) })
	swapped := "FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (" + old + ")"
	// The old tables exist only after the RENAME.
	isSwapped := "SELECT COUNT(*) > 0 " + swapped
	stage := plan.Stage{Name: plan.StageSwap, Text: "the shadows take the places of the tables"}
	for _, s := range tables {
		if slices.ContainsFunc(s.Columns, func(c *mycatalog.Column) bool { return c.Definition.Auto() }) {
			stage.Steps = append(stage.Steps, counterStep(s, isSwapped))
		}
	}
	for _, s := range tables {
		stage.Steps = append(stage.Steps, unchangedStep(s, isSwapped))
	}
	renames := mycatalog.Join(tables, ", ", func(s movingTable) string {
		name := mycatalog.QuoteTable(s.TableName)
		return name + " TO " + mycatalog.QuoteTable(oldName(s.TableName)) + ", " + mycatalog.QuoteTable(shadowName(s.TableName)) + " TO " + name
	})
	stage.Steps = append(stage.Steps, plan.OnlineStep{
		Kind: plan.Short, Text: "rename all of them at once", SQL: []string{renamePrefix + renames}, Unless: isSwapped,
		Locks: "everybody waits for a moment, and while it waits for transactions that use the tables",
	})
	// A Verify step fails if its query counts anything, here the old tables.
	stage.Back = []plan.OnlineStep{{
		Kind: plan.Verify, Text: "there is a way back only until the tables are renamed: writes since then are in the new ones alone. Continue to the last stage, and take phase widen back",
		SQL: []string{"SELECT COUNT(*) " + swapped},
	}}
	return stage
}

// counterStep returns the step that raises the shadow's AUTO_INCREMENT to the value of
// the table, which may be larger because a program has set it. Usually the triggers raise
// it a moment after the table's. Therefore the step waits for 0.2 seconds before it
// compares the values, because an ALTER could block writers for a second. isSwapped is
// the query whether the tables have been renamed.
func counterStep(s movingTable, isSwapped string) plan.OnlineStep {
	const next = "(SELECT COALESCE(AUTO_INCREMENT, 1) FROM information_schema.TABLES WHERE %s)"
	shadow := shadowName(s.TableName)
	raise := mycatalog.Literal("ALTER TABLE " + mycatalog.QuoteTable(shadow) + " AUTO_INCREMENT = ")
	step := s.step(plan.Short, "raise AUTO_INCREMENT of its shadow if it is behind", "writers wait for a moment if it is",
		fmt.Sprintf("SET @sqlmigrate_next = "+next, mycatalog.WhereTable(s.TableName)),
		"DO SLEEP(0.2)",
		fmt.Sprintf("SET @sqlmigrate = IF("+next+" >= @sqlmigrate_next, 'DO 0', CONCAT(%s, @sqlmigrate_next))", mycatalog.WhereTable(shadow), raise),
		"PREPARE sqlmigrate FROM @sqlmigrate", "EXECUTE sqlmigrate", "DEALLOCATE PREPARE sqlmigrate")
	step.Unless = isSwapped
	return step
}

// unchangedStep returns the step that fails if the table's definition has changed since
// the plan was made, or if the table does not have exactly the move's triggers. isSwapped
// is the query whether the tables have been renamed.
func unchangedStep(s movingTable, isSwapped string) plan.OnlineStep {
	step := s.step(plan.Verify, "refuse it if it has been changed since the plan: take the move back and plan it again", "", fmt.Sprintf(
		"SELECT %s <> %s\n  OR (SELECT COUNT(*) <> %d FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = %s)",
		s.Fingerprint(), mycatalog.Literal(s.fingerprint), len(events), mycatalog.Literal(s.Name)))
	step.Unless = isSwapped
	return step
}

// namesStep returns the step that replaces the foreign keys of the new table by foreign
// keys with the original names, which are free after the old table is dropped. The server
// does not check the rows again, because the replaced keys have ensured that they are
// valid.
func namesStep(s movingTable) []plan.OnlineStep {
	if len(s.Foreign) == 0 {
		return nil
	}
	var drops, adds, names []string
	for _, f := range s.Foreign {
		drops = append(drops, "DROP FOREIGN KEY "+mycatalog.Quote(shadowForeignName(f)))
		adds, names = append(adds, "ADD "+f.Text), append(names, f.Name)
	}
	change := "ALTER TABLE " + mycatalog.QuoteTable(s.TableName) + " " + strings.Join(append(drops, adds...), ", ") + ", ALGORITHM=INPLACE, LOCK=NONE"
	step := s.step(plan.Short, "foreign keys have their names again", "everybody waits for a moment",
		"SET SESSION foreign_key_checks = 0", change, "SET SESSION foreign_key_checks = 1")
	step.Unless = mycatalog.HasAll(s.TableName, mycatalog.ForeignKind, names...)
	return []plan.OnlineStep{step}
}
