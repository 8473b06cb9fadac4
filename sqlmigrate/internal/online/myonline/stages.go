package myonline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// stagesOf returns the stages of a move. tables must be sorted, parents first.
func stagesOf(tables []shadowed) []plan.Stage {
	prepare := plan.Stage{Name: plan.StagePrepare, Text: "make shadows with wide columns"}
	copying := plan.Stage{Name: plan.StageCopy, Text: "fill them by triggers and a copy, parents first"}
	index := plan.Stage{Name: plan.StageIndex, Text: "the shadows have theirs already"}
	constrain := plan.Stage{Name: plan.StageConstrain, Text: "compare all rows"}
	finish := plan.Stage{Name: plan.StageFinish, Text: "drop the old tables, and give foreign keys their names again", NoWayBack: "the old tables are dropped"}
	for _, s := range tables {
		prepare.Steps = append(prepare.Steps, orphanSteps(s)...)
	}
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

func (s shadowed) step(kind plan.StepKind, text, locks string, statements ...string) plan.OnlineStep {
	return plan.OnlineStep{Table: s.TableName, Kind: kind, Text: text, SQL: statements, Locks: locks}
}

// orphanSteps returns steps that look for rows that violate a foreign key, because the
// shadow would refuse them.
func orphanSteps(s shadowed) []plan.OnlineStep {
	var steps []plan.OnlineStep
	for _, f := range s.Foreign {
		step := s.step(plan.Verify, "look for rows that break foreign key "+f.Name, "", "SELECT COUNT(*) FROM ("+s.Orphans(f)+") orphan")
		step.Rows, step.Bytes, step.Estimate = s.Rows, s.Bytes, time.Duration(s.Rows)*2500*time.Nanosecond
		steps = append(steps, step)
	}
	return steps
}

// createStep returns the step that creates the shadow from the definition of the table.
// Its AUTO_INCREMENT starts at the value of the original.
func createStep(s shadowed) plan.OnlineStep {
	become := mycatalog.Join(s.wide, ", ", func(w widening) string { return w.Name + " becomes " + w.to.String() })
	return s.step(plan.Long, "make its shadow, in which "+become, "nothing that programs use",
		"CREATE TABLE IF NOT EXISTS "+mycatalog.QuoteTable(shadowName(s.TableName))+" (\n  "+mycatalog.Join(s.Elements, ",\n  ", s.element)+"\n)"+s.Options)
}

// element returns an element of the shadow's definition. A widened column has its new
// type, and a foreign key has another name and refers to the parent's shadow.
func (s shadowed) element(e string) string {
	for _, w := range s.wide {
		if string(w.Definition) == e {
			return string(w.Definition.As(w.to))
		}
	}
	for _, f := range s.Foreign {
		if f.Text == e {
			return f.Between(foreignName(f), shadowName(f.Parent))
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
func checkNotes(tables []shadowed) []string {
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

// written returns the columns that a statement can write, which excludes generated
// columns.
func (s shadowed) written() []*mycatalog.Column {
	return slices.DeleteFunc(slices.Clone(s.Columns), func(c *mycatalog.Column) bool { return c.Generated != "" })
}

// listed returns the text as for each column, with the column's name in place of ?.
func listed(columns []*mycatalog.Column, separator, as string) string {
	return mycatalog.Join(columns, separator, func(c *mycatalog.Column) string { return strings.ReplaceAll(as, "?", mycatalog.Quote(c.Name)) })
}

// sameKey returns a condition that two rows have the same primary key. one and other are
// prefixes of the column names.
func (s shadowed) sameKey(one, other string) string {
	return listed(s.Key(), " AND ", one+"? = "+other+"?")
}

// triggerStep returns the step that creates the triggers, which repeat in the shadow what
// programs write. The trigger of an UPDATE also inserts the row, because its new key may
// be in a range that the copy has already passed.
func triggerStep(s shadowed) plan.OnlineStep {
	from, shadow, columns := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), s.written()
	upsert := "INSERT INTO " + shadow + " (" + listed(columns, ", ", "?") + ") VALUES (" + listed(columns, ", ", "NEW.?") + ") ON DUPLICATE KEY UPDATE " + listed(columns, ", ", "? = VALUES(?)")
	step := s.step(plan.Short, "triggers repeat in the shadow what programs write", "everybody waits for a moment, once for all three", "LOCK TABLES "+from+" WRITE")
	for _, trigger := range []struct{ event, body string }{
		{"DELETE", "DELETE FROM " + shadow + " WHERE " + s.sameKey("", "OLD.")},
		{"UPDATE", "BEGIN UPDATE " + shadow + " SET " + listed(columns, ", ", "? = NEW.?") + " WHERE " + s.sameKey("", "OLD.") + "; " + upsert + "; END"},
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

func dropTriggersStep(s shadowed) plan.OnlineStep {
	step := s.step(plan.Short, "drop its triggers", "everybody waits for a moment, once for each of three")
	for _, event := range events {
		step.SQL = append(step.SQL, "DROP TRIGGER IF EXISTS "+mycatalog.Quote(triggerName(s.TableName, event)))
	}
	return step
}

func dropStep(s shadowed, name plan.TableName, text string) plan.OnlineStep {
	return s.step(plan.Long, text, "nothing that programs use", "DROP TABLE IF EXISTS "+mycatalog.QuoteTable(name))
}

// copyStep returns the step that copies the rows. It locks the rows that it reads, so
// that it never overwrites a row of the shadow with an older version than a trigger
// wrote.
func copyStep(s shadowed) plan.OnlineStep {
	from, shadow, columns, first := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), s.written(), mycatalog.Quote(s.Key()[0].Name)
	step := s.step(plan.Batches, "copy the rows that are there already", "rows of a batch: their writers wait until it is done",
		"INSERT INTO "+shadow+" ("+listed(columns, ", ", "?")+") SELECT "+listed(columns, ", ", "?")+" FROM "+from+
			" FORCE INDEX (PRIMARY) WHERE "+first+" > ? AND "+first+" <= ? LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE "+
			listed(columns, ", ", shadow+".? = VALUES(?)"),
		fmt.Sprintf("SELECT %[1]s FROM %[2]s FORCE INDEX (PRIMARY) WHERE %[1]s > ? ORDER BY %[1]s LIMIT 1 OFFSET ?", first, from),
		fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 1) - 1, COALESCE(MAX(%[1]s), 0) FROM %[2]s", first, from))
	step.Rows, step.Bytes, step.Disk, step.Log, step.Estimate = s.Rows, s.Bytes, s.Bytes, 2*s.Bytes, 3*mysql.CopyTime(s.Table, true)
	return step
}

// compareStep returns the step that compares the rows of both tables, in both directions.
// It compares the bytes of texts, because a collation treats different texts as equal.
func compareStep(s shadowed) plan.OnlineStep {
	same := mycatalog.Join(s.written(), " AND ", func(c *mycatalog.Column) string {
		name, binary := mycatalog.Quote(c.Name), ""
		if c.Integer().Base == "" {
			binary = "BINARY "
		}
		return binary + "t." + name + " <=> " + binary + "s." + name
	})
	from, shadow, key := mycatalog.QuoteTable(s.TableName), mycatalog.QuoteTable(shadowName(s.TableName)), mycatalog.Quote(s.Key()[0].Name)
	step := s.step(plan.Verify, "compare it with its shadow", "",
		"SELECT /* rows that differ */ (SELECT COUNT(*) FROM "+from+" t LEFT JOIN "+shadow+" s ON "+s.sameKey("s.", "t.")+" WHERE s."+key+" IS NULL OR NOT ("+same+")) + "+
			"(SELECT COUNT(*) FROM "+shadow+" s LEFT JOIN "+from+" t ON "+s.sameKey("t.", "s.")+" WHERE t."+key+" IS NULL)")
	step.Rows, step.Bytes, step.Estimate = 2*s.Rows, 2*s.Bytes, time.Duration(s.Rows)*6*time.Microsecond
	return step
}

const renaming = "RENAME TABLE "

// swapStage returns the stage that renames all tables in a single RENAME, after checks.
func swapStage(tables []shadowed) plan.Stage {
	old := mycatalog.Join(tables, ", ", func(s shadowed) string { return mycatalog.Literal(oldName(s.TableName).Name) })
	swapped := "FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (" + old + ")"
	over := "SELECT COUNT(*) > 0 " + swapped
	stage := plan.Stage{Name: plan.StageSwap, Text: "the shadows take the places of the tables"}
	for _, s := range tables {
		if slices.ContainsFunc(s.Columns, func(c *mycatalog.Column) bool { return c.Definition.Auto() }) {
			stage.Steps = append(stage.Steps, counterStep(s, over))
		}
	}
	for _, s := range tables {
		stage.Steps = append(stage.Steps, unchangedStep(s, over))
	}
	renames := mycatalog.Join(tables, ", ", func(s shadowed) string {
		name := mycatalog.QuoteTable(s.TableName)
		return name + " TO " + mycatalog.QuoteTable(oldName(s.TableName)) + ", " + mycatalog.QuoteTable(shadowName(s.TableName)) + " TO " + name
	})
	stage.Steps = append(stage.Steps, plan.OnlineStep{
		Kind: plan.Short, Text: "rename all of them at once", SQL: []string{renaming + renames}, Unless: over,
		Locks: "everybody waits for a moment, and while it waits for transactions that use the tables",
	})
	stage.Back = []plan.OnlineStep{{
		Kind: plan.Verify, Text: "there is a way back only until the tables are renamed: writes since then are in the new ones alone. Continue to the last stage, and take phase widen back",
		SQL: []string{"SELECT COUNT(*) " + swapped},
	}}
	return stage
}

// counterStep returns the step that raises the shadow's AUTO_INCREMENT to the table's
// value, which may be larger because a program has set it. Usually the triggers have
// raised it a moment after the table's. The step waits for that moment, because an ALTER
// could block writers for a second.
func counterStep(s shadowed, over string) plan.OnlineStep {
	const next = "(SELECT COALESCE(AUTO_INCREMENT, 1) FROM information_schema.TABLES WHERE %s)"
	shadow := shadowName(s.TableName)
	raise := mycatalog.Literal("ALTER TABLE " + mycatalog.QuoteTable(shadow) + " AUTO_INCREMENT = ")
	step := s.step(plan.Short, "raise AUTO_INCREMENT of its shadow if it is behind", "writers wait for a moment if it is",
		fmt.Sprintf("SET @sqlmigrate_next = "+next, mycatalog.WhereTable(s.TableName)),
		"DO SLEEP(0.2)",
		fmt.Sprintf("SET @sqlmigrate = IF("+next+" >= @sqlmigrate_next, 'DO 0', CONCAT(%s, @sqlmigrate_next))", mycatalog.WhereTable(shadow), raise),
		"PREPARE sqlmigrate FROM @sqlmigrate", "EXECUTE sqlmigrate", "DEALLOCATE PREPARE sqlmigrate")
	step.Unless = over
	return step
}

// unchangedStep returns the step that fails if the table's definition has changed since
// the plan was made, or if the table does not have exactly the move's triggers.
func unchangedStep(s shadowed, over string) plan.OnlineStep {
	step := s.step(plan.Verify, "refuse it if it has been changed since the plan: take the move back and plan it again", "", fmt.Sprintf(
		"SELECT %s <> %s\n  OR (SELECT COUNT(*) <> %d FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = %s)",
		s.State(), mycatalog.Literal(s.state), len(events), mycatalog.Literal(s.Name)))
	step.Unless = over
	return step
}

// namesStep returns the step that replaces the foreign keys by foreign keys with the
// original names. It does not check the rows, because the replaced keys have ensured that
// they are valid.
func namesStep(s shadowed) []plan.OnlineStep {
	if len(s.Foreign) == 0 {
		return nil
	}
	var drops, adds, names []string
	for _, f := range s.Foreign {
		drops = append(drops, "DROP FOREIGN KEY "+mycatalog.Quote(foreignName(f)))
		adds, names = append(adds, "ADD "+f.Text), append(names, f.Name)
	}
	change := "ALTER TABLE " + mycatalog.QuoteTable(s.TableName) + " " + strings.Join(append(drops, adds...), ", ") + ", ALGORITHM=INPLACE, LOCK=NONE"
	step := s.step(plan.Short, "foreign keys have their names again", "everybody waits for a moment",
		"SET SESSION foreign_key_checks = 0", change, "SET SESSION foreign_key_checks = 1")
	step.Unless = mycatalog.HasAll(s.TableName, mycatalog.ForeignKind, names...)
	return []plan.OnlineStep{step}
}

const longestName = 64

// The suffixes of shadows and old tables both have six characters. The survey of the
// catalog excludes tables with these suffixes.
func shadowName(t plan.TableName) plan.TableName {
	return plan.TableName{Name: "_" + t.Name + "_sfnew"}
}

func oldName(t plan.TableName) plan.TableName {
	return plan.TableName{Name: "_" + t.Name + "_sfold"}
}

func triggerName(t plan.TableName, event string) string {
	return "_" + t.Name + "_sf" + strings.ToLower(event[:3])
}

// foreignName returns a name for the shadow's foreign key that is unique in the database.
func foreignName(f mycatalog.ForeignKey) string {
	sum := sha256.Sum256([]byte(f.Child.Name + "\x00" + f.Name))
	return "_sf_" + hex.EncodeToString(sum[:])[:24]
}
