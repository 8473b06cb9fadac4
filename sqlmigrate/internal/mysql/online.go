package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// An online widening fills shadows: for each table of the connected set another
// one with wide columns, filled by triggers and by a copy, parents first, and
// with foreign keys among themselves. One RENAME puts all of them into the places
// of the originals. Locks are taken in the order in which programs take them: a row of the original
// first, then the one of the shadow.

// A shadowed is a table of an online widening.
type shadowed struct {
	*table

	columns []*column // that become wide
}

// Both endings have six letters: see [narrowSQL].
func shadowName(t engine.TableName) engine.TableName {
	return engine.TableName{Name: "_" + t.Name + "_sfnew"}
}

func oldName(t engine.TableName) engine.TableName {
	return engine.TableName{Name: "_" + t.Name + "_sfold"}
}

// OnlineTable has a row for each online widening that is under way.
const OnlineTable = "sqlmigrate_online"

const longestName = 64

func triggerName(t engine.TableName, event string) string {
	return "_" + t.Name + "_sf" + strings.ToLower(event[:3])
}

// onlineForeignName is one that no constraint of the database has.
func onlineForeignName(f foreignKey) string {
	sum := sha256.Sum256([]byte(f.child.Name + "\x00" + f.name))
	return "_sf_" + hex.EncodeToString(sum[:])[:24]
}

// onlinePlan reads the tables as they are.
type onlinePlan struct {
	*inspection

	set []shadowed // parents first
}

// PlanOnline plans the steps, or finds what blocks them. It reads only.
func PlanOnline(ctx context.Context, conn *sql.Conn, wanted []engine.OnlineTable) (*engine.OnlinePlan, error) {
	p := &onlinePlan{inspection: &inspection{ctx: ctx, conn: conn, tables: map[engine.TableName]*table{}}}
	for _, step := range []func() error{p.readServer, p.checkOnline, p.readJournal, p.readPairs} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, w := range wanted {
		if err := p.add(w); err != nil {
			return nil, err
		}
	}
	if err := p.findOnlineBlockers(); err != nil {
		return nil, err
	}
	plan := &engine.OnlinePlan{Blockers: p.blockers, Notes: p.notes}
	for _, s := range p.set {
		plan.Tables = append(plan.Tables, s.name)
	}
	if len(p.blockers) == 0 && len(p.set) > 0 {
		plan.Notes = append(plan.Notes, onlineNotes...)
		plan.Stages = p.stages()
	}
	return plan, nil
}

// checkOnline refuses MySQL, on which nothing of this has been tried, and servers
// that a crash in the middle of a RENAME leaves with half of it.
func (p *onlinePlan) checkOnline() error {
	var version string
	if err := p.conn.QueryRowContext(p.ctx, "SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', '', 'MySQL '), VERSION())").Scan(&version); err != nil {
		return fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if !widensOnline(version) {
		return fmt.Errorf("sqlmigrate: an online widening is not supported on %s: want MariaDB 10.6 or later: apply phase widen", version)
	}
	return nil
}

func widensOnline(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && strings.Contains(version, "MariaDB") && (major > 10 || major == 10 && minor >= 6)
}

var onlineNotes = []string{
	"Do not KILL connections that use these tables until stage swap is over: MariaDB then may keep their triggers as unreadable, and writes fail with 1064 until FLUSH TABLES of that table. The move does that when it is resumed. A table whose RENAME was killed may not open at all, with error 1343, until its file of triggers, NAME.TRG, is removed on the server.",
	"A primary of MariaDB does not know how far its replicas are behind, so the copy does not wait for them: watch them yourself, and choose --stall and --batch-rows so that they follow.",
	"There is no way back online after the swap, because writes are then in the new tables alone. After the last stage, phase widen of a plan that was made before can be taken back, with its locks.",
	"A program's transaction can be the victim of a deadlock with the copy, error 1213, and has to be repeated.",
}

func (p *onlinePlan) add(w engine.OnlineTable) error {
	t, err := p.table(w.Name)
	if err != nil {
		return err
	}
	s := shadowed{table: t}
	for _, c := range w.Columns {
		if c.To == "" {
			continue
		}
		own := t.column(c.Name)
		if own == nil {
			return fmt.Errorf("sqlmigrate: table %s has no column %s any more: inspect it again", t.name, c.Name)
		}
		own.wide = typeOf(c.To)
		s.columns = append(s.columns, own)
	}
	p.set = append(p.set, s)
	return nil
}

func (p *onlinePlan) has(t engine.TableName) bool {
	return slices.ContainsFunc(p.set, func(s shadowed) bool { return s.name == t })
}

// findOnlineBlockers refuses whatever would not survive, and sorts the rest.
func (p *onlinePlan) findOnlineBlockers() error {
	if p.journal != nil {
		p.blockers = append(p.blockers, engine.Blocker{Table: journalTable, Object: "table " + journalTable, Reason: "another run has stopped half-way", Fix: "complete it first, by apply or revert"})
	}
	for _, s := range p.set {
		for _, reason := range p.refusals(s) {
			p.block(s.table, reason[0], reason[1], "widen it by phase widen")
		}
		if err := p.refuseObjects(s); err != nil {
			return err
		}
	}
	if len(p.blockers) == 0 && !p.sort() {
		p.block(p.set[0].table, "foreign keys", "they form a circle, so no table can be copied first", "widen the tables by phase widen")
	}
	return nil
}

// refusals are an object and a reason each.
func (p *onlinePlan) refusals(s shadowed) (found [][2]string) {
	t := s.table
	no := func(object, reason string) { found = append(found, [2]string{object, reason}) }
	key := t.key()
	switch {
	case t.name.Schema != "":
		no("table "+t.name.String(), "it is in another database")
	case len(triggerName(t.name, "INSERT")) > longestName:
		no("table "+t.name.String(), "its name leaves no room for the name of its shadow")
	case t.kind != "BASE TABLE" || !strings.EqualFold(t.engine, "InnoDB"):
		no("table "+t.name.String(), "it is not a plain table of InnoDB")
	case strings.Contains(t.options, "PARTITION BY"):
		no("table "+t.name.String(), "it has partitions, which have no foreign keys and are not tried")
	case len(key) == 0 || key[0].typ().base == "" || key[0].typ() == (integerType{"bigint", true}):
		no("table "+t.name.String(), "the first column of its primary key is not an integer by which it could be copied in batches")
	}
	for _, c := range t.columns {
		if strings.Contains(strings.ToLower(c.columnType), "zerofill") {
			no("column "+c.name, "it has ZEROFILL")
		}
	}
	for _, f := range t.foreign {
		switch {
		case f.parent == t.name:
			no("foreign key "+f.name, "the table refers to itself")
		case len(f.columns) > 1:
			no("foreign key "+f.name, "it has several columns")
		case !p.has(f.parent):
			no("foreign key "+f.name, "it refers to table "+f.parent.String()+", which is not widened with it")
		}
	}
	for _, pair := range p.pairs {
		if pair.parent == t.name && !p.has(pair.child) {
			no("table "+pair.child.String(), "it refers to table "+t.name.String()+" and is not widened with it")
		}
	}
	return found
}

// refuseObjects looks for triggers, and for names that are taken.
func (p *onlinePlan) refuseObjects(s shadowed) error {
	const query = "SELECT 'trigger', TRIGGER_NAME, 'it would not fire in the order that it has' FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = %s " +
		"UNION ALL SELECT 'table', TABLE_NAME, 'its name is wanted for the widening' FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (%s)"
	names := literals([]string{shadowName(s.name).Name, oldName(s.name).Name})
	return p.query(fmt.Sprintf(query, literal(s.name.Name), names), func(scan func(...any) error) error {
		var kind, name, reason string
		if err := scan(&kind, &name, &reason); err != nil {
			return err
		}
		p.block(s.table, kind+" "+name, reason, "drop it, or widen the table by phase widen")
		return nil
	})
}

// sort puts parents first, and reports whether that can be done.
func (p *onlinePlan) sort() bool {
	var sorted []shadowed
	placed := map[engine.TableName]bool{}
	for len(sorted) < len(p.set) {
		before := len(sorted)
		for _, s := range p.set {
			if !placed[s.name] && !slices.ContainsFunc(s.foreign, func(f foreignKey) bool { return !placed[f.parent] }) {
				placed[s.name], sorted = true, append(sorted, s)
			}
		}
		if len(sorted) == before {
			return false
		}
	}
	p.set = sorted
	return true
}

func (p *onlinePlan) stages() []engine.OnlineStage {
	prepare := engine.OnlineStage{Name: engine.StagePrepare, Text: "make shadows with wide columns"}
	copying := engine.OnlineStage{Name: engine.StageCopy, Text: "fill them by triggers and a copy, parents first"}
	constrain := engine.OnlineStage{Name: engine.StageConstrain, Text: "compare all rows"}
	finish := engine.OnlineStage{Name: engine.StageFinish, Text: "drop the old tables, and give foreign keys their names again", NoWayBack: "the old tables are dropped"}
	for _, s := range p.set {
		prepare.Steps = append(prepare.Steps, p.orphanSteps(s)...)
	}
	for _, s := range p.set {
		prepare.Steps = append(prepare.Steps, p.createStep(s))
		copying.Steps = append(copying.Steps, p.triggerStep(s), p.copyStep(s))
		constrain.Steps = append(constrain.Steps, p.compareStep(s))
		finish.Steps = append(finish.Steps, p.namesStep(s)...)
	}
	for _, s := range slices.Backward(p.set) {
		copying.Back = append(copying.Back, p.dropTriggersStep(s))
		prepare.Back = append(prepare.Back, dropStep(s, shadowName(s.name), "drop its shadow"))
	}
	var drops []engine.OnlineStep
	for _, s := range slices.Backward(p.set) {
		drops = append(drops, dropStep(s, oldName(s.name), "drop the old table"))
	}
	finish.Steps = append(drops, finish.Steps...)
	index := engine.OnlineStage{Name: engine.StageIndex, Text: "the shadows have theirs already"}
	return []engine.OnlineStage{prepare, copying, index, constrain, p.swapStage(), finish}
}

const countOrphans = "SELECT COUNT(*) FROM ("

// orphanSteps are for rows that a shadow would refuse.
func (p *onlinePlan) orphanSteps(s shadowed) []engine.OnlineStep {
	var steps []engine.OnlineStep
	for _, f := range s.foreign {
		steps = append(steps, engine.OnlineStep{
			Table: s.name.String(), Kind: engine.Verify, Text: "look for rows that break foreign key " + f.name,
			SQL:  []string{countOrphans + p.orphans(f) + ") orphan"},
			Rows: s.rows, Bytes: s.bytes, Estimate: time.Duration(s.rows) * 2500 * time.Nanosecond,
		})
	}
	return steps
}

// createStep repeats the definition of the table. The counter continues where the
// original's is.
func (p *onlinePlan) createStep(s shadowed) engine.OnlineStep {
	var elements []string
	for _, e := range s.elements {
		switch {
		case strings.HasPrefix(e, "`"):
			e = string(s.column(quotedNames(e)[0]).afterWiden())
		default:
			if f, ok := parseForeignKey(s.name, e); ok {
				e = f.shadow()
			}
		}
		elements = append(elements, e)
	}
	return engine.OnlineStep{
		Table: s.name.String(), Kind: engine.Long, Text: "make its shadow, in which " + namesOf(s.columns),
		SQL:   []string{"CREATE TABLE IF NOT EXISTS " + quoteTable(shadowName(s.name)) + " (\n  " + strings.Join(elements, ",\n  ") + "\n)" + s.options},
		Locks: "nothing that programs use",
	}
}

// shadow is the constraint between the shadows, under another name.
func (f foreignKey) shadow() string {
	text := strings.Replace(f.text, quote(f.name), quote(onlineForeignName(f)), 1)
	at := find(text, func(s string, i int) bool { return strings.HasPrefix(s[i:], " REFERENCES ") }) + len(" REFERENCES ")
	open := at + find(text[at:], func(s string, i int) bool { return s[i] == '(' })
	return text[:at] + quoteTable(shadowName(f.parent)) + " " + text[open:]
}

// written are the columns that a statement can write.
func (s shadowed) written() []string {
	var names []string
	for _, c := range s.table.columns {
		if c.generated == "" {
			names = append(names, c.name)
		}
	}
	return names
}

func listed(names []string, of string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ReplaceAll(of, "?", quote(name))
	}
	return strings.Join(all, ", ")
}

// sameKey is a condition for the row of the shadow that has the key of another.
func (s shadowed) sameKey(one, other string) string {
	var same []string
	for _, c := range s.key() {
		same = append(same, one+quote(c.name)+" = "+other+quote(c.name))
	}
	return strings.Join(same, " AND ")
}

// triggerStep begins to repeat what programs write. A row that is updated
// before it was copied is inserted, because its key may move to where the copy
// has been.
func (p *onlinePlan) triggerStep(s shadowed) engine.OnlineStep {
	shadow, names := quoteTable(shadowName(s.name)), s.written()
	upsert := "INSERT INTO " + shadow + " (" + listed(names, "?") + ") VALUES (" + listed(names, "NEW.?") + ") ON DUPLICATE KEY UPDATE " + listed(names, "? = VALUES(?)")
	bodies := []struct{ event, sql string }{
		{"DELETE", "DELETE FROM " + shadow + " WHERE " + s.sameKey("", "OLD.")},
		{"UPDATE", "BEGIN UPDATE " + shadow + " SET " + listed(names, "? = NEW.?") + " WHERE " + s.sameKey("", "OLD.") + "; " + upsert + "; END"},
		{"INSERT", upsert},
	}
	step := engine.OnlineStep{
		Table: s.name.String(), Kind: engine.Short, Text: "triggers repeat in the shadow what programs write",
		SQL:   []string{"LOCK TABLES " + quoteTable(s.name) + " WRITE"},
		Locks: "everybody waits for a moment, once for all three",
	}
	for _, b := range bodies {
		name := quote(triggerName(s.name, b.event))
		step.SQL = append(step.SQL, "DROP TRIGGER IF EXISTS "+name,
			"CREATE TRIGGER "+name+" AFTER "+b.event+" ON "+quoteTable(s.name)+" FOR EACH ROW "+b.sql)
	}
	step.SQL = append(step.SQL, "UNLOCK TABLES")
	return step
}

func (p *onlinePlan) dropTriggersStep(s shadowed) engine.OnlineStep {
	step := engine.OnlineStep{Table: s.name.String(), Kind: engine.Short, Text: "drop its triggers", Locks: "everybody waits for a moment, once for each of three"}
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		step.SQL = append(step.SQL, "DROP TRIGGER IF EXISTS "+quote(triggerName(s.name, event)))
	}
	return step
}

func dropStep(s shadowed, name engine.TableName, text string) engine.OnlineStep {
	return engine.OnlineStep{Table: s.name.String(), Kind: engine.Long, Text: text, SQL: []string{"DROP TABLE IF EXISTS " + quoteTable(name)}, Locks: "nothing that programs use"}
}

// copyStep locks the rows that it reads: what a trigger has written is never
// older.
func (p *onlinePlan) copyStep(s shadowed) engine.OnlineStep {
	names, first := s.written(), quote(s.key()[0].name)
	return engine.OnlineStep{
		Table: s.name.String(), Kind: engine.Batches, Text: "copy the rows that are there already",
		SQL: []string{
			"INSERT INTO " + quoteTable(shadowName(s.name)) + " (" + listed(names, "?") + ") SELECT " + listed(names, "?") + " FROM " + quoteTable(s.name) +
				" FORCE INDEX (PRIMARY) WHERE " + first + " > ? AND " + first + " <= ? LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE " +
				listed(names, quoteTable(shadowName(s.name))+".? = VALUES(?)"),
			fmt.Sprintf("SELECT %[1]s FROM %[2]s FORCE INDEX (PRIMARY) WHERE %[1]s > ? ORDER BY %[1]s LIMIT 1 OFFSET ?", first, quoteTable(s.name)),
			fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 1) - 1, COALESCE(MAX(%[1]s), 0) FROM %[2]s", first, quoteTable(s.name)),
		},
		Locks: "rows of a batch: their writers wait until it is done",
		Rows:  s.rows, Bytes: s.bytes, Disk: s.bytes, Log: 2 * s.bytes, Estimate: 3 * p.cost(s.table, false),
	}
}

const differing = "SELECT /* rows that differ */ "

// Differing is true for a comparison: rows that it finds are copied again.
func Differing(query string) bool { return strings.HasPrefix(query, differing) }

// compareStep compares bytes, in both directions.
func (p *onlinePlan) compareStep(s shadowed) engine.OnlineStep {
	var same []string
	for _, c := range s.table.columns {
		if c.generated != "" {
			continue
		}
		of := "%[1]s <=> %[2]s"
		if c.typ().base == "" {
			of = "BINARY %[1]s <=> BINARY %[2]s"
		}
		same = append(same, fmt.Sprintf(of, "t."+quote(c.name), "s."+quote(c.name)))
	}
	from, shadow, key := quoteTable(s.name), quoteTable(shadowName(s.name)), quote(s.key()[0].name)
	return engine.OnlineStep{
		Table: s.name.String(), Kind: engine.Verify, Text: "compare it with its shadow",
		SQL: []string{differing +
			"(SELECT COUNT(*) FROM " + from + " t LEFT JOIN " + shadow + " s ON " + s.sameKey("s.", "t.") + " WHERE s." + key + " IS NULL OR NOT (" + strings.Join(same, " AND ") + ")) + " +
			"(SELECT COUNT(*) FROM " + shadow + " s LEFT JOIN " + from + " t ON " + s.sameKey("t.", "s.") + " WHERE t." + key + " IS NULL)"},
		Rows: 2 * s.rows, Bytes: 2 * s.bytes, Estimate: time.Duration(s.rows) * 6 * time.Microsecond,
	}
}

// swapStage is one RENAME.
func (p *onlinePlan) swapStage() engine.OnlineStage {
	var renames, names []string
	for _, s := range p.set {
		renames = append(renames, quoteTable(s.name)+" TO "+quoteTable(oldName(s.name)), quoteTable(shadowName(s.name))+" TO "+quoteTable(s.name))
		names = append(names, oldName(s.name).Name)
	}
	swapped := "FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (" + literals(names) + ")"
	over := "SELECT COUNT(*) > 0 " + swapped
	stage := engine.OnlineStage{Name: engine.StageSwap, Text: "the shadows take the places of the tables"}
	for _, s := range p.set {
		if slices.ContainsFunc(s.table.columns, func(c *column) bool { return c.definition.auto() >= 0 }) {
			stage.Steps = append(stage.Steps, s.counterStep(over))
		}
	}
	for _, s := range p.set {
		stage.Steps = append(stage.Steps, p.unchangedStep(s, over))
	}
	stage.Steps = append(stage.Steps, engine.OnlineStep{
		Kind: engine.Short, Text: "rename all of them at once", SQL: []string{"RENAME TABLE " + strings.Join(renames, ", ")}, Unless: over,
		Locks: "everybody waits for a moment, and while it waits for transactions that use the tables",
	})
	stage.Back = []engine.OnlineStep{{
		Kind: engine.Verify, Text: "there is a way back only until the tables are renamed: writes since then are in the new ones alone. Continue to the last stage, and take phase widen back",
		SQL: []string{"SELECT COUNT(*) " + swapped},
	}}
	return stage
}

// counterStep raises the shadow's AUTO_INCREMENT to the table's where a program
// has set it. The triggers carry it on otherwise, and a moment after the table: an
// ALTER for that moment could keep writers waiting for a second.
func (s shadowed) counterStep(over string) engine.OnlineStep {
	const next = "(SELECT COALESCE(AUTO_INCREMENT, 1) FROM information_schema.TABLES WHERE %s)"
	raise := "ALTER TABLE " + quoteTable(shadowName(s.name)) + " AUTO_INCREMENT = "
	return engine.OnlineStep{
		Table: s.name.String(), Kind: engine.Short, Text: "raise AUTO_INCREMENT of its shadow if it is behind", Unless: over,
		SQL: []string{
			fmt.Sprintf("SET @sqlmigrate_next = "+next, whereTable(s.name)),
			"DO SLEEP(0.2)",
			fmt.Sprintf("SET @sqlmigrate = IF("+next+" >= @sqlmigrate_next, 'DO 0', CONCAT(%s, @sqlmigrate_next))", whereTable(shadowName(s.name)), literal(raise)),
			"PREPARE sqlmigrate FROM @sqlmigrate", "EXECUTE sqlmigrate", "DEALLOCATE PREPARE sqlmigrate",
		},
		Locks: "writers wait for a moment if it is",
	}
}

// unchangedStep refuses what the shadow does not know of.
func (p *onlinePlan) unchangedStep(s shadowed, unless string) engine.OnlineStep {
	count := func(n int, query string) string {
		return fmt.Sprintf("(SELECT COUNT(*) = %d FROM information_schema.%s)", n, query)
	}
	refer := 0
	for _, other := range p.set {
		for _, f := range other.foreign {
			if f.parent == s.name {
				refer++
			}
		}
	}
	name := literal(s.name.Name)
	same := []string{
		count(len(s.table.columns), "COLUMNS WHERE "+whereTable(s.name)),
		count(len(s.foreign), "TABLE_CONSTRAINTS WHERE "+whereTable(s.name)+" AND CONSTRAINT_TYPE = '"+foreignKind+"'"),
		count(refer, "REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = "+name),
		count(3, "TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = "+name),
		fmt.Sprintf("(SELECT COUNT(DISTINCT INDEX_NAME) = %d FROM information_schema.STATISTICS WHERE %s)", len(s.indexes), whereTable(s.name)),
	}
	for _, c := range s.table.columns {
		same = append(same, "("+hasColumn(c, strings.Join([]string{
			exactly("COLUMN_TYPE", c.columnType), exactly(defaultIs, c.preset), exactly(restIs, c.rest), exactly("COALESCE(GENERATION_EXPRESSION, '')", c.generated),
		}, " AND "))+")")
	}
	for _, index := range slices.Sorted(maps.Keys(s.indexes)) {
		same = append(same, s.unchangedIndex(index))
	}
	for _, f := range s.foreign {
		same = append(same, f.unchanged())
	}
	return engine.OnlineStep{
		Table: s.name.String(), Kind: engine.Verify, Unless: unless,
		Text: "refuse it if it has been changed since the plan: take the move back and plan it again",
		SQL:  []string{"SELECT NOT (" + strings.Join(same, "\nAND ") + ")"},
	}
}

// namesStep replaces each constraint by one of its old name, which checks what
// the other has checked until then.
func (p *onlinePlan) namesStep(s shadowed) []engine.OnlineStep {
	if len(s.foreign) == 0 {
		return nil
	}
	var drops []string
	for _, f := range s.foreign {
		drops = append(drops, "DROP FOREIGN KEY "+quote(onlineForeignName(f)))
	}
	return []engine.OnlineStep{{
		Table: s.name.String(), Kind: engine.Short, Text: "foreign keys have their names again",
		SQL:    []string{"SET SESSION foreign_key_checks = 0", alter(s.table, append(drops, addClauses(s.foreign)...)...) + ", ALGORITHM=INPLACE, LOCK=NONE", "SET SESSION foreign_key_checks = 1"},
		Unless: hasAll(s.name, foreignKind, foreignNames(s.foreign)...),
		Locks:  "everybody waits for a moment",
	}}
}
