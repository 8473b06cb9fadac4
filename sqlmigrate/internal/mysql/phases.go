package mysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

const foreignKind, checkKind = "FOREIGN KEY", "CHECK"

// widenPhase drops foreign keys first, because no server changes the type of a
// column that has one, whatever foreign_key_checks says.
func (in *inspection) widenPhase() engine.Phase {
	phase := engine.Phase{Name: engine.Widen}
	keys := byChild(in.dropped())
	for _, same := range keys {
		phase.Steps = append(phase.Steps, in.dropStep(same))
	}
	for _, columns := range byTable(in.widened()) {
		phase.Steps = append(phase.Steps, in.widenStep(columns))
		phase.Check = append(phase.Check, fit(columns)...)
	}
	for _, same := range keys {
		phase.Steps = append(phase.Steps, in.addStep(same))
	}
	for _, same := range keys {
		phase.Steps = append(phase.Steps, in.verifyStep(same))
	}
	if len(keys) > 0 {
		first := &phase.Steps[0]
		first.Down = append(first.Down, in.verify(slices.Concat(keys...))...)
		in.note("MySQL and MariaDB cannot change the type of a column that has a foreign key. Phase widen drops foreign keys at its beginning and adds them back at its end: nothing checks rows that are written in between, and the children of a deleted row stay. If a row then breaks a foreign key, that is added back all the same, and the phase ends with an error that has the query for such rows: fix them, and run the same again.")
	}
	return phase
}

// byChild takes sorted keys.
func byChild(keys []foreignKey) [][]foreignKey {
	var tables [][]foreignKey
	for i, f := range keys {
		if i == 0 || f.child != keys[i-1].child {
			tables = append(tables, nil)
		}
		last := len(tables) - 1
		tables[last] = append(tables[last], f)
	}
	return tables
}

func foreignNames(keys []foreignKey) []string {
	names := make([]string, len(keys))
	for i, f := range keys {
		names[i] = f.name
	}
	return names
}

func (in *inspection) dropStep(keys []foreignKey) engine.Step {
	t := in.tables[keys[0].child]
	step := engine.Step{
		Table: t.name.String(),
		Text:  "drop foreign key " + strings.Join(foreignNames(keys), ", ") + " for the time being",
		Down:  in.addOwn(t, keys),
		Locks: "waits for transactions that use the table or the tables that it refers to; all others wait until it is done",
	}
	step.Up = []engine.Statement{in.drop(t, keys, (*column).wideType)}
	return step
}

// addStep adds them unchecked: that takes a moment, where a server that checks
// copies the table.
func (in *inspection) addStep(keys []foreignKey) engine.Step {
	t := in.tables[keys[0].child]
	return engine.Step{
		Table: t.name.String(),
		Text:  "add foreign key " + strings.Join(foreignNames(keys), ", ") + " back",
		Up:    unchecked(addForeignKeys(t, keys)),
		Down:  []engine.Statement{in.drop(t, keys, (*column).typ)},
		Locks: "waits for transactions that use the table and, on MySQL, for those that write the tables that it refers to; all others wait until it is done",
	}
}

// drop is one statement, so that all of a table's are there or none. It is left
// out where the columns have their new types already.
func (in *inspection) drop(t *table, keys []foreignKey, typeOf func(*column) integerType) engine.Statement {
	var columns []*column
	drops := make([]string, len(keys))
	for i, f := range keys {
		columns = append(columns, in.columnsOf(f)...)
		drops[i] = "DROP FOREIGN KEY " + quote(f.name)
	}
	unless := "SELECT TRUE" // an earlier run has done it
	if len(columns) > 0 {
		unless = "SELECT (" + hasNone(t.name, foreignKind, foreignNames(keys)...) + ")"
		var are []string
		for _, columns := range byTable(columns) {
			are = append(are, "("+columnsAre(columns, typeOf)+")")
		}
		unless += " OR " + strings.Join(are, " AND ")
	}
	return engine.Statement{SQL: alter(t, drops...), Unless: unless}
}

func addForeignKeys(t *table, keys []foreignKey) engine.Statement {
	return engine.Statement{SQL: alter(t, addClauses(keys)...), Unless: hasAll(t.name, foreignKind, foreignNames(keys)...)}
}

func addClauses(keys []foreignKey) []string {
	adds := make([]string, len(keys))
	for i, f := range keys {
		adds[i] = "ADD " + f.text
	}
	return adds
}

// addOwn is addForeignKeys where widenStep has perhaps not come to the indexes.
// They are left to the server if somebody has changed them since.
func (in *inspection) addOwn(t *table, keys []foreignKey) []engine.Statement {
	add := addForeignKeys(t, keys)
	own := in.ownIndexes(t)
	if len(own) == 0 {
		return unchecked(add)
	}
	var unchanged []string
	for _, name := range in.ownIndexNames(t) {
		unchanged = append(unchanged, t.unchangedIndex(name))
	}
	both := engine.Statement{
		SQL:    alter(t, append(own, addClauses(keys)...)...),
		Unless: "SELECT (" + add.Unless + ") OR NOT (" + strings.Join(unchanged, " AND ") + ")",
	}
	return unchecked(both, add)
}

func (in *inspection) widenStep(columns []*column) engine.Step {
	var up, down []string
	for _, c := range columns {
		up = append(up, "MODIFY "+string(c.afterWiden()))
		down = append(down, "MODIFY "+string(c.definition))
	}
	t := columns[0].table
	up = append(up, in.ownIndexes(t)...)
	return in.rewrite(t, engine.Step{
		Text: namesOf(columns),
		Up:   []engine.Statement{{SQL: alter(t, up...), Unless: columnsAre(columns, (*column).wideType)}},
		Down: []engine.Statement{{SQL: alter(t, down...), Unless: columnsAre(columns, (*column).typ)}},
	}, false)
}

// ownIndexes makes an index the table's own that a foreign key has brought: the
// server replaces such a one when the foreign key is added back, under another
// name or at another place among the others. Those that come after it are
// created again too, which keeps their order. The table is copied anyway.
func (in *inspection) ownIndexes(t *table) []string {
	var drop, add []string
	for _, e := range in.ownElements(t) {
		drop = append(drop, "DROP KEY "+quote(quotedNames(e)[0]))
		add = append(add, "ADD "+e)
	}
	return append(drop, add...)
}

func (in *inspection) ownIndexNames(t *table) []string {
	var names []string
	for _, e := range in.ownElements(t) {
		names = append(names, quotedNames(e)[0])
	}
	return names
}

func (in *inspection) ownElements(t *table) []string {
	var own []string
	for _, e := range t.elements {
		if !strings.HasPrefix(e, "KEY `") {
			continue
		}
		if len(own) > 0 || slices.ContainsFunc(in.dropped(), func(f foreignKey) bool {
			return f.child == t.name && isIndexOf(e, f)
		}) {
			own = append(own, e)
		}
	}
	return own
}

// fit refuses to go back to types that do not hold what is there.
func fit(columns []*column) []engine.Statement {
	var statements []engine.Statement
	for _, c := range columns {
		low, high := c.typ().holds()
		statements = append(statements, rejectUnless(
			fmt.Sprintf("sqlmigrate: refused: %s does not hold all of %s", c.typ(), c),
			fmt.Sprintf("SELECT NOT EXISTS (SELECT 1 FROM %s WHERE %s NOT BETWEEN %s AND %s)",
				quoteTable(c.table.name), quote(c.name), low, high)))
		if c.definition.auto() >= 0 {
			statements = append(statements, c.counterFits())
		}
	}
	return statements
}

func (in *inspection) detachPhase() engine.Phase {
	phase := engine.Phase{Name: engine.Detach}
	var assigned []*column
	for _, columns := range byTable(in.assigned()) {
		for _, c := range columns {
			assigned = append(assigned, c)
			phase.Steps = append(phase.Steps, in.detachStep(c))
			if in.want.Issued > 0 {
				phase.Check = append(phase.Check, in.oldKeysOnly(c))
			}
		}
	}
	phase.Steps = counted(phase.Steps, assigned)
	return phase
}

// detachStep switches the checks of foreign keys off where something refers to
// the column: MySQL refuses the change otherwise, although the type stays.
func (in *inspection) detachStep(c *column) engine.Step {
	t := c.table
	with, without := c.isAssigned()
	step := engine.Step{Table: t.name.String(), Text: "the database assigns " + c.name + " no more", Locks: "everybody waits for a moment"}
	if c.definition.auto() < 0 {
		step.Up = unchecked(engine.Statement{SQL: alter(t, "ALTER COLUMN "+quote(c.name)+" DROP DEFAULT"), Unless: without})
		step.Down = unchecked(engine.Statement{SQL: alter(t, "MODIFY "+string(c.afterWiden())), Unless: with})
		return step
	}
	if !in.mariadb {
		step = in.rewrite(t, step, false)
	}
	up := unchecked(engine.Statement{SQL: alter(t, "MODIFY "+string(c.afterWiden().unassigned())), Unless: without})
	step.Up = slices.Concat([]engine.Statement{recordCounter(t)}, up, []engine.Statement{c.recordKeys()})
	step.Down = unchecked(c.assignAgain(with)...)
	return step
}

// isAssigned are queries that are true if the database assigns the column, and
// if it does not.
func (c *column) isAssigned() (with, without string) {
	if c.definition.auto() < 0 {
		return hasColumn(c, "COLUMN_DEFAULT IS NOT NULL"), hasColumn(c, "COLUMN_DEFAULT IS NULL")
	}
	return hasColumn(c, "EXTRA LIKE '%auto_increment%'"), hasColumn(c, "EXTRA NOT LIKE '%auto_increment%'")
}

func unchecked(s ...engine.Statement) []engine.Statement {
	return slices.Concat([]engine.Statement{{SQL: "SET SESSION foreign_key_checks = 0"}}, s, []engine.Statement{{SQL: "SET SESSION foreign_key_checks = 1"}})
}

// oldKeysOnly refuses to let the database assign keys again where IDs have been
// issued: it would continue from the largest, with IDs that are issued too.
func (in *inspection) oldKeysOnly(c *column) engine.Statement {
	return rejectUnless(
		fmt.Sprintf("sqlmigrate: refused: %s has Snowflake IDs, the database would continue from them", c),
		fmt.Sprintf("SELECT NOT EXISTS (SELECT 1 FROM %s WHERE %s >= %s)",
			quoteTable(c.table.name), quote(c.name), strconv.FormatInt(in.want.Issued, 10)))
}

// guardPhase leaves out keys that refer to another table's, which has a guard
// of its own.
func (in *inspection) guardPhase() engine.Phase {
	phase := engine.Phase{Name: engine.Guard}
	for _, columns := range byTable(in.moved) {
		for _, c := range columns {
			if c.primary && !c.hasForeignKey() && c.typ().base != "" && !c.guarded() {
				if c.table.notPositive {
					in.note("Table %s has keys that are not positive, so it gets no guard.", c.table.name)
					continue
				}
				phase.Steps = append(phase.Steps, in.guardStep(c))
			}
		}
	}
	return phase
}

// guarded reports whether a CHECK of this meaning is there, under any name.
func (c *column) guarded() bool {
	condition := quote(c.name) + " > 0"
	return slices.ContainsFunc(c.table.elements, func(e string) bool {
		return strings.Contains(e, "CHECK ("+condition+")") || strings.Contains(e, "CHECK (("+condition+"))")
	})
}

// guardName is what GORM names the CHECK of a model with check:id > 0, so
// that AutoMigrate does not add another one.
func guardName(t *table, column string) string {
	for {
		// GORM cuts a name that is too long without regard to its characters.
		name := strings.ToValidUTF8(schema.NamingStrategy{}.CheckerName(t.name.Name, column), "")
		if !slices.ContainsFunc(t.elements, func(e string) bool { return strings.HasPrefix(e, "CONSTRAINT "+quote(name)+" ") }) {
			return name
		}
		column += "_positive"
	}
}

func (in *inspection) guardStep(c *column) engine.Step {
	t := c.table
	name := guardName(t, c.name)
	step := in.rewrite(t, engine.Step{
		Text: "refuse keys that are not positive",
		Up: []engine.Statement{{
			SQL:    alter(t, "ADD CONSTRAINT "+quote(name)+" CHECK ("+quote(c.name)+" > 0)"),
			Unless: hasAll(t.name, checkKind, name),
		}},
		Down: []engine.Statement{{
			SQL:    alter(t, "DROP CONSTRAINT "+quote(name)),
			Unless: hasNone(t.name, checkKind, name),
		}},
	}, false)
	step.Locks += "; it also waits for transactions that write the tables it refers to or that refer to it, " +
		"and a program that has written one and continues with the other gets error 1213 and must repeat its transaction"
	return step
}
