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
// row of a shadow needs its parent in the parent's shadow. Stage index has no steps, because
// the CREATE TABLE of createStep also creates the indexes of a shadow.
func stagesOf(tables []movingTable) []plan.Stage {
	prepare := plan.Stage{Name: plan.StagePrepare, Text: "make shadows with wide columns"}
	copying := plan.Stage{Name: plan.StageCopy, Text: "fill them by triggers and a copy, parents first"}
	index := plan.Stage{Name: plan.StageIndex, Text: "the shadows have theirs already"}
	constrain := plan.Stage{Name: plan.StageConstrain, Text: "compare all rows"}
	finish := plan.Stage{Name: plan.StageFinish, Text: "drop the old tables, and give foreign keys their names again", NoWayBack: "the old tables are dropped"}
	for _, s := range tables {
		prepare.Steps = append(prepare.Steps, orphanSteps(s)...)
	}
	// Drop tables before the parents to which their foreign keys refer.
	for _, s := range slices.Backward(tables) {
		copying.Back = append(copying.Back, dropTriggersStep(s))
		prepare.Back = append(prepare.Back, dropStep(s, shadowName(s.TableName), "drop its shadow"))
		finish.Steps = append(finish.Steps, dropStep(s, oldName(s.TableName), "drop the old table"))
	}
	for _, s := range tables {
		prepare.Steps = append(prepare.Steps, createStep(s))
		copying.Steps = append(copying.Steps, triggerStep(s), copyStep(s))
		constrain.Steps = append(constrain.Steps, compareStep(s))
		finish.Steps = append(finish.Steps, namesSteps(s)...)
	}
	return []plan.Stage{prepare, copying, index, constrain, swapStage(tables), finish}
}

// step returns a step for the table. locks describes to users the locks that the step takes, or
// is empty.
func (s movingTable) step(kind plan.StepKind, text, locks string, statements ...string) plan.OnlineStep {
	return plan.OnlineStep{Table: s.TableName, Kind: kind, Text: text, SQL: statements, Locks: locks}
}

// orphanSteps returns a step for each foreign key, which fails if rows violate the foreign key.
// The shadow would refuse these rows, because it has the same foreign keys.
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

// createStep returns the step that creates the shadow from the definition of the table. The
// shadow has the options of the table too, so its AUTO_INCREMENT starts at the same value.
func createStep(s movingTable) plan.OnlineStep {
	changes := mycatalog.Join(s.widenings, ", ", func(w widening) string { return w.Name + " becomes " + w.to.String() })
	return s.step(plan.Long, "make its shadow, in which "+changes, "nothing that programs use",
		"CREATE TABLE IF NOT EXISTS "+mycatalog.QuoteTable(shadowName(s.TableName))+" (\n  "+mycatalog.Join(s.Elements, ",\n  ", s.element)+"\n)"+s.Options)
}

// element returns the definition in the shadow of a column, key or constraint, where e is its
// definition in the table. A widened column gets its new type. A foreign key gets another name,
// and refers to the parent's shadow. On MySQL, a CHECK loses its name.
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

// namedCheck matches the beginning of a CHECK with a name, for example
//
//	CONSTRAINT `positive` CHECK
//
// A backquote in the name is doubled. In a MySQL database, two tables cannot have a CHECK
// of the same name, so the shadow's CHECK is defined without a name. The server then makes
// up a name for the CHECK from the name of the table, and changes the name of the CHECK
// when the table is renamed.
var namedCheck = regexp.MustCompile("^CONSTRAINT `((?:[^`]|``)+)` CHECK ")

// checkNotes returns notes for users on the CHECKs that lose their names on MySQL. The move
// does not restore a name, because such a statement would copy the table. There is no note on
// a CHECK whose name the server has made up, such as orders_chk_1.
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

// writableColumns returns all columns except generated columns, which a statement cannot write.
func (s movingTable) writableColumns() []*mycatalog.Column {
	return slices.DeleteFunc(slices.Clone(s.Columns), func(c *mycatalog.Column) bool { return c.Generated != "" })
}

// joinColumns returns a text for each column, joined by the separator. The text is template
// with the name of the column in place of each ?. For example, for the columns a and b, the
// template "? = NEW.?" and the separator ", ", it returns
//
//	`a` = NEW.`a`, `b` = NEW.`b`
func joinColumns(columns []*mycatalog.Column, separator, template string) string {
	return mycatalog.Join(columns, separator, func(c *mycatalog.Column) string {
		return strings.ReplaceAll(template, "?", mycatalog.Quote(c.Name))
	})
}

// sameKey returns a condition that two rows have the same primary key. prefix and
// otherPrefix come before the column names of the two rows. For example, "s." and "t."
// return s.`id` = t.`id` for the key id.
func (s movingTable) sameKey(prefix, otherPrefix string) string {
	return joinColumns(s.Key(), " AND ", prefix+"? = "+otherPrefix+"?")
}

// triggerStep returns the step that creates the triggers, which repeat the writes of programs
// in the shadow. An UPDATE of a row that is not in the shadow yet would change no row there.
// So the trigger of an UPDATE also inserts the row, because its new key may be in a range that
// the copy has already passed.
func triggerStep(s movingTable) plan.OnlineStep {
	// The step locks the table, so that programs write nothing while only some of the triggers
	// exist. It drops each trigger first, because an interrupted run may have created it.
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

// events are the events of the three triggers of each table, in the order in which the triggers
// are dropped.
var events = []string{"INSERT", "UPDATE", "DELETE"}

// dropTriggersStep returns the step that drops the move's triggers of the table.
func dropTriggersStep(s movingTable) plan.OnlineStep {
	step := s.step(plan.Short, "drop its triggers", "everybody waits for a moment, once for each of three")
	for _, event := range events {
		step.SQL = append(step.SQL, "DROP TRIGGER IF EXISTS "+mycatalog.Quote(triggerName(s.TableName, event)))
	}
	return step
}

// dropStep returns the step that drops the table with this name, which is the shadow or the old
// table of s.
func dropStep(s movingTable, name plan.TableName, text string) plan.OnlineStep {
	return s.step(plan.Long, text, "nothing that programs use", "DROP TABLE IF EXISTS "+mycatalog.QuoteTable(name))
}

// copyStep returns the step that copies the rows to the shadow, whose three statements
// Driver.RunBatch explains. The copy locks the rows that it reads (LOCK IN SHARE MODE), so that
// it never overwrites a row of the shadow with an older version than a trigger wrote.
func copyStep(s movingTable) plan.OnlineStep {
	from, shadow, columns, first := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), s.writableColumns(), mycatalog.Quote(s.Key()[0].Name)
	step := s.step(plan.Batches, "copy the rows that are there already", "rows of a batch: their writers wait until it is done",
		"INSERT INTO "+shadow+" ("+joinColumns(columns, ", ", "?")+") SELECT "+joinColumns(columns, ", ", "?")+" FROM "+from+
			" FORCE INDEX (PRIMARY) WHERE "+first+" > ? AND "+first+" <= ? LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE "+
			joinColumns(columns, ", ", shadow+".? = VALUES(?)"),
		s.endOfRange(),
		fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 1) - 1, COALESCE(MAX(%[1]s), 0) FROM %[2]s", first, from))
	// The estimate is three times the time of a plain copy on MariaDB, also for MySQL. The
	// reasons for the factor are that the run pauses for as long as each batch takes, and that
	// each batch is a transaction.
	step.Rows, step.Bytes, step.Disk, step.Log, step.Estimate = s.Rows, s.Bytes, s.Bytes, 2*s.Bytes, 3*mysql.CopyTime(s.Table, true)
	return step
}

// endOfRange returns the query for the last key of a range of rows. Keys are values of the
// first column of the primary key. The arguments of the query are the key before the range, and
// the number of rows of the range less one. The query returns no row if fewer rows are left
// than the range should have.
func (s movingTable) endOfRange() string {
	return fmt.Sprintf("SELECT %[1]s FROM %[2]s FORCE INDEX (PRIMARY) WHERE %[1]s > ? ORDER BY %[1]s LIMIT 1 OFFSET ?",
		mycatalog.Quote(s.Key()[0].Name), mycatalog.QuoteTable(s.TableName))
}

// compareStep returns the step that compares the table with its shadow. Its first statement
// counts the rows that differ. It looks up each row of the table in the shadow, and adds the
// difference between the numbers of rows of the two tables. If the shadow has every row of the
// table, this difference is the number of rows that only the shadow has. Counting is faster
// than a second join. The statement compares the bytes of texts, because a collation treats
// different texts as equal. In the query, t is the table and s the shadow.
//
// The other statements are the queries of equalInRanges, which shows in less than half of the
// time that no row differs.
func compareStep(s movingTable) plan.OnlineStep {
	same := mycatalog.Join(s.writableColumns(), " AND ", func(c *mycatalog.Column) string {
		name := mycatalog.Quote(c.Name)
		return bytesOf(c, "t."+name) + " <=> " + bytesOf(c, "s."+name)
	})
	from, shadow, key := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), mycatalog.Quote(s.Key()[0].Name)
	step := s.step(plan.Verify, "compare it with its shadow", "",
		"SELECT /* rows that differ */ (SELECT COUNT(*) FROM "+from+" t LEFT JOIN "+shadow+" s ON "+s.sameKey("s.", "t.")+" WHERE s."+key+" IS NULL OR NOT ("+same+")) + "+
			"ABS((SELECT COUNT(*) FROM "+shadow+") - (SELECT COUNT(*) FROM "+from+"))")
	if s.readsRanges() { // otherwise the query of each range would read the whole table
		step.SQL = append(step.SQL, "SELECT "+s.rangeAsText(s.TableName)+" = "+s.rangeAsText(shadowName(s.TableName)), s.endOfRange())
	}
	step.Rows, step.Bytes, step.Estimate = 2*s.Rows, 2*s.Bytes, time.Duration(s.Rows)*6*time.Microsecond
	return step
}

// bytesOf returns an expression that is equal for two values of the column only if they are the
// same. value is the SQL of the value, for example t.`name`. For an integer the expression is
// the value, and otherwise the bytes of the value, because a collation treats different texts
// as equal. A float is first converted to a double by + 0e0, because the text of a float has
// only six digits.
func bytesOf(c *mycatalog.Column, value string) string {
	switch {
	case c.Integer().Base != "":
		return value
	case strings.HasPrefix(strings.ToLower(c.Type), "float"):
		value += " + 0e0"
	}
	return "CAST(" + value + " AS BINARY)"
}

// readsRanges reports whether the server can read the rows between two values of the column
// s.Key()[0] without reading the whole table. It can if the primary key begins with this
// column. s.Key() has the columns in their order in the table, so a key (b, a) begins with
// another column if the table has the columns a and b in this order.
func (s movingTable) readsRanges() bool {
	return slices.ContainsFunc(s.Elements, func(e string) bool {
		return strings.HasPrefix(e, "PRIMARY KEY ("+mycatalog.Quote(s.Key()[0].Name))
	})
}

// rangeAsText returns an expression for a text of a table's rows between two keys. The text has
// the number of rows, and then their values in the order of the primary key. For example, it is
// 2 1,6162;2,- for the rows (1, 'ab') and (2, NULL). If the text is equal for two tables, their
// rows are equal. An integer is in the text as digits, another value as the hexadecimal digits
// of its bytes, and NULL as a minus, so that no value contains a separator.
//
// If a value or the text of a row is longer than a packet of the server, a random number takes
// the place of the row, so that the texts of the two tables differ.
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

// renamePrefix begins the statement that renames all tables, by which RunStep recognizes it.
const renamePrefix = "RENAME TABLE "

// swapStage returns the stage that renames all tables in a single RENAME, so that programs see
// either all old tables or all new tables. Steps before the RENAME raise the AUTO_INCREMENT of
// shadows, and fail if a table has been changed since the plan.
func swapStage(tables []movingTable) plan.Stage {
	old := mycatalog.Join(tables, ", ", func(s movingTable) string { return mycatalog.Literal(oldName(s.TableName).Name) })
	swapped := "FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (" + old + ")"
	// Tables with the names of oldName exist only after the RENAME, which gives these names to
	// the original tables.
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
	// There is no way back once old tables exist. The Verify step counts them, and fails if its
	// count is not 0.
	stage.Back = []plan.OnlineStep{{
		Kind: plan.Verify, Text: "there is a way back only until the tables are renamed: writes since then are in the new ones alone. Continue to the last stage, and take phase widen back",
		SQL: []string{"SELECT COUNT(*) " + swapped},
	}}
	return stage
}

// counterStep returns the step that raises the AUTO_INCREMENT of the shadow to that of the
// table. The shadow has the lower value if somebody has raised the value of the table by an
// ALTER TABLE. The shadow also has the lower value for a moment after each INSERT into the
// table, until the trigger has inserted the row into the shadow. An ALTER TABLE could block
// writers for a second, so the step must not run it only because of such a moment.
// Therefore the step reads the table's AUTO_INCREMENT, waits for 0.2 seconds, and then
// compares this earlier value with the shadow's AUTO_INCREMENT.
//
// An ALTER TABLE accepts no variable for the value. So the step composes a text, which is the
// ALTER TABLE, or DO 0 if the shadow is not behind, and prepares and executes this text.
//
// isSwapped is a query that is true if the tables have been renamed. The step is then skipped.
func counterStep(s movingTable, isSwapped string) plan.OnlineStep {
	const next = "(SELECT COALESCE(AUTO_INCREMENT, 1) FROM information_schema.TABLES WHERE %s)"
	shadow := shadowName(s.TableName)
	raisePrefix := mycatalog.Literal("ALTER TABLE " + mycatalog.QuoteTable(shadow) + " AUTO_INCREMENT = ")
	step := s.step(plan.Short, "raise AUTO_INCREMENT of its shadow if it is behind", "writers wait for a moment if it is",
		fmt.Sprintf("SET @sqlmigrate_next = "+next, mycatalog.WhereTable(s.TableName)),
		"DO SLEEP(0.2)",
		fmt.Sprintf("SET @sqlmigrate = IF("+next+" >= @sqlmigrate_next, 'DO 0', CONCAT(%s, @sqlmigrate_next))", mycatalog.WhereTable(shadow), raisePrefix),
		"PREPARE sqlmigrate FROM @sqlmigrate", "EXECUTE sqlmigrate", "DEALLOCATE PREPARE sqlmigrate")
	step.Unless = isSwapped
	return step
}

// unchangedStep returns the step that fails if the table's definition has changed since the
// plan was made, or if the table has more or fewer triggers than the three of the move.
// isSwapped is a query that is true if the tables have been renamed. The step is then skipped,
// because the table of that name is the former shadow.
func unchangedStep(s movingTable, isSwapped string) plan.OnlineStep {
	step := s.step(plan.Verify, "refuse it if it has been changed since the plan: take the move back and plan it again", "", fmt.Sprintf(
		"SELECT %s <> %s\n  OR (SELECT COUNT(*) <> %d FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = %s)",
		s.Fingerprint(), mycatalog.Literal(s.fingerprint), len(events), mycatalog.Literal(s.Name)))
	step.Unless = isSwapped
	return step
}

// namesSteps returns the step that replaces the foreign keys of the new table, the former
// shadow, by foreign keys with the original names, which are free after the old table is
// dropped. The step turns the check of the rows off, because the rows satisfy the replaced
// foreign keys. There is no step if the table has no foreign keys.
func namesSteps(s movingTable) []plan.OnlineStep {
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
