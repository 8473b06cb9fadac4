package myonline

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// PlanOnline implements [engine.Online]. If the plan has blockers, it has no stages.
func (Driver) PlanOnline(ctx context.Context, conn *sql.Conn, wanted []plan.Table) (*engine.OnlinePlan, error) {
	if err := checkVersion(ctx, conn); err != nil {
		return nil, err
	}
	reader, err := mycatalog.Read(ctx, conn)
	if err != nil {
		return nil, err
	}
	tables, err := readTables(ctx, conn, reader, wanted)
	if err != nil {
		return nil, err
	}
	p := &engine.OnlinePlan{}
	if p.Blockers, err = findBlockers(ctx, conn, reader, tables); err != nil {
		return nil, err
	}
	sorted := sortParents(tables)
	// A foreign key to a table outside of the move is a blocker already, so the only other
	// reason for nil is a cycle.
	if sorted == nil && len(p.Blockers) == 0 && len(tables) > 0 {
		p.Blockers = []plan.Blocker{{Table: tables[0].TableName, Object: "foreign keys", Reason: "they form a circle, so no table can be copied first", Fix: "widen the tables by phase widen"}}
	}
	if len(p.Blockers) == 0 && len(tables) > 0 {
		tables, p.Notes, p.Stages = sorted, append(notesFor(reader.MariaDB), checkNotes(sorted)...), stagesOf(sorted)
	}
	for _, t := range tables {
		p.Tables = append(p.Tables, t.TableName)
	}
	return p, nil
}

// versionSQL returns the version of the server, and whether the server is MariaDB 10.6,
// MySQL 8.0 or later. The second value is 0, to which a special comment adds 1. Only MariaDB
// from 10.6 on runs the text in /*M!100600 … */, and only MySQL from 8.0 on the text in
// /*!80000 … */. The query puts the name of MySQL before the version, because MySQL's version
// does not contain it.
const versionSQL = "SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', '', 'MySQL '), VERSION()), 0 /*M!100600 + 1 */ /*!80000 + 1 */"

// checkVersion returns an error if the server is older than MariaDB 10.6 or MySQL 8.0. The
// swap renames several tables by one RENAME. If an older server crashes during such a
// RENAME, it can leave only some of the tables renamed.
func checkVersion(ctx context.Context, conn *sql.Conn) error {
	var version string
	var supported bool
	if err := conn.QueryRowContext(ctx, versionSQL).Scan(&version, &supported); err != nil {
		return fmt.Errorf("sqlmigrate: ask the server for its version: %w", err)
	}
	if !supported {
		return fmt.Errorf("sqlmigrate: an online widening is not supported on %s: want MariaDB 10.6 or MySQL 8.0, or later: apply phase widen", version)
	}
	return nil
}

// notesFor returns the notes for users that every plan has on MariaDB, or on MySQL.
func notesFor(mariadb bool) []string {
	notes := []string{
		"A primary does not know how far its replicas are behind, so the copy does not wait for them: watch them yourself, and choose WithStall and WithBatchRows so that they follow.",
		"There is no way back online after the swap, because writes are then in the new tables alone. After the last stage, phase widen of a plan that was made before can be taken back, with its locks.",
		"A program's transaction can be the victim of a deadlock with the copy, error 1213, and has to be repeated.",
	}
	if !mariadb {
		return append(notes, "MySQL counts the wait for a table in seconds: a step that needs a table for itself keeps programs waiting for up to a second in each try, while a transaction uses the table.")
	}
	return slices.Insert(notes, 0, "Do not KILL connections that use these tables until stage swap is over: MariaDB then may keep their triggers as unreadable, and writes fail with 1064 until FLUSH TABLES of that table. The move does that when it is resumed. A table whose RENAME was killed may not open at all, with error 1343, until its file of triggers, NAME.TRG, is removed on the server.")
}

// readTables reads the wanted tables, the columns that get a new type, and a hash of each
// table's definition, by which later steps notice a change. A column of wanted keeps its type
// if its To, the new type, is empty.
func readTables(ctx context.Context, conn *sql.Conn, reader *mycatalog.Reader, wanted []plan.Table) ([]movingTable, error) {
	tables := make([]movingTable, len(wanted))
	for i, w := range wanted {
		t, err := reader.Table(ctx, plan.TableName{Schema: w.Schema, Name: w.Name})
		if err != nil {
			return nil, err
		}
		tables[i].Table, tables[i].mysql = t, !reader.MariaDB
		if err := conn.QueryRowContext(ctx, "SELECT "+t.Fingerprint()).Scan(&tables[i].fingerprint); err != nil {
			return nil, fmt.Errorf("sqlmigrate: table %s: %w", t, err)
		}
		for _, c := range w.Columns {
			if c.To == "" {
				continue
			}
			column := t.Column(c.Name)
			if column == nil {
				return nil, fmt.Errorf("sqlmigrate: table %s has no column %s any more: inspect it again", t, c.Name)
			}
			tables[i].widenings = append(tables[i].widenings, widening{Column: column, to: mycatalog.IntegerOf(c.To)})
		}
	}
	return tables, nil
}

// findBlockers returns the reasons why the tables cannot be moved, such as an object that the
// move would lose or does not support. Another reason is an unfinished run of the phases of a
// plan, which change the tables in place. Such a run may have dropped foreign keys that it has
// not added back, and the journal of the phases (reader.Journal), from which they can be added
// back, then exists. reader.Pairs are the foreign keys of all databases, because tables in
// other databases can refer to tables of the move.
func findBlockers(ctx context.Context, conn *sql.Conn, reader *mycatalog.Reader, tables []movingTable) ([]plan.Blocker, error) {
	var blockers []plan.Blocker
	if reader.Journal.Exists {
		blockers = append(blockers, plan.Blocker{Table: plan.TableName{Name: mycatalog.JournalTable}, Object: "table " + mycatalog.JournalTable, Reason: "another run has stopped half-way", Fix: "complete it first, by apply or revert"})
	}
	for _, s := range tables {
		objects, err := readObjects(ctx, conn, s)
		if err != nil {
			return nil, err
		}
		blockers = slices.Concat(blockers, blockTable(s), blockForeignKeys(s, tables), blockReferring(s, tables, reader.Pairs), objects)
	}
	return blockers, nil
}

// blocker returns a blocker for an object of the table. Its fix is phase widen, which changes
// the table in place.
func (s movingTable) blocker(object, reason string) plan.Blocker {
	return plan.Blocker{Table: s.TableName, Object: object, Reason: reason, Fix: "widen it by phase widen"}
}

// blockTable returns the blockers of the table itself, and of its columns and keys. Of the
// reasons in the switch it reports only the first, because one is sufficient.
func blockTable(s movingTable) (found []plan.Blocker) {
	block := func(reason string) { found = append(found, s.blocker("table "+s.String(), reason)) }
	key := s.Key()
	switch {
	case s.Schema != "":
		block("it is in another database")
	case len(triggerName(s.TableName, "INSERT")) > longestName: // no name that the move derives is longer
		block("its name leaves no room for the name of its shadow")
	case s.Kind != "BASE TABLE" || !strings.EqualFold(s.Engine, "InnoDB"):
		block("it is not a plain table of InnoDB")
	case mycatalog.Definition(s.Options).Has("PARTITION BY"): // Has ignores quoted text, such as the comment of the table
		block("it has partitions, which have no foreign keys and are not tried")
	// The copy stores its position, a value of this column, as an int64, which a bigint
	// unsigned may exceed.
	case len(key) == 0 || key[0].Integer().Base == "" || key[0].Integer() == mycatalog.UnsignedBigint:
		block("the first column of its primary key is not an integer by which it could be copied in batches")
	}
	if slices.ContainsFunc(s.Elements, func(e string) bool { return mycatalog.Definition(e).Has(" WITHOUT OVERLAPS") }) {
		block("it has a key WITHOUT OVERLAPS of a PERIOD, with which INSERT … ON DUPLICATE KEY UPDATE fails")
	}
	for _, c := range s.Columns {
		if strings.Contains(strings.ToLower(c.Type), "zerofill") {
			found = append(found, s.blocker("column "+c.Name, "it has ZEROFILL"))
		}
	}
	return found
}

// blockForeignKeys returns the blockers of the table's foreign keys. It blocks a foreign key
// that the shadow could not have, or whose parent row may be missing while the shadow is
// filled. tables are all tables of the move.
func blockForeignKeys(s movingTable, tables []movingTable) (found []plan.Blocker) {
	for _, f := range s.Foreign {
		block := func(reason string) { found = append(found, s.blocker("foreign key "+f.Name, reason)) }
		switch {
		case f.Parent == s.TableName:
			block("the table refers to itself")
		case len(f.Columns) > 1:
			block("it has several columns")
		case !contains(tables, f.Parent):
			block("it refers to table " + f.Parent.String() + ", which is not widened with it")
		}
	}
	return found
}

// blockReferring returns the blockers for tables that refer to table s but are not in the
// move. After the swap, their foreign keys would refer to the old table. tables are all tables
// of the move, and pairs the foreign keys of all databases.
func blockReferring(s movingTable, tables []movingTable, pairs []mycatalog.Pair) (found []plan.Blocker) {
	for _, p := range pairs {
		if p.Parent == s.TableName && !contains(tables, p.Child) {
			found = append(found, s.blocker("table "+p.Child.String(), "it refers to table "+s.String()+" and is not widened with it"))
		}
	}
	return found
}

// objectsSQL returns the names of objects that block the move, and the reasons. These are the
// triggers of the table, because their order relative to the move's triggers would be
// undefined, and other tables with a name that the move needs for the shadow or for the old
// table. Its arguments are the name of the table, and a list of these two names.
const objectsSQL = "SELECT CONCAT('trigger ', TRIGGER_NAME), 'it would not fire in the order that it has' FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = %s " +
	"UNION ALL SELECT CONCAT('table ', TABLE_NAME), 'its name is wanted for the widening' FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (%s)"

// readObjects returns the blockers for the objects that objectsSQL finds, which are triggers of
// the table, and tables that have a name which the move needs.
func readObjects(ctx context.Context, conn *sql.Conn, s movingTable) (found []plan.Blocker, err error) {
	query := fmt.Sprintf(objectsSQL, mycatalog.Literal(s.Name), mycatalog.Literals([]string{shadowName(s.TableName).Name, oldName(s.TableName).Name}))
	objects, err := rows.Read[struct{ Name, Reason string }](ctx, conn, query)
	for _, o := range objects {
		found = append(found, plan.Blocker{Table: s.TableName, Object: o.Name, Reason: o.Reason, Fix: "drop it, or widen the table by phase widen"})
	}
	return found, err
}

// sortParents returns the tables with parents before their children. It returns nil if
// foreign keys form a cycle, or refer to a table that is not in tables.
func sortParents(tables []movingTable) []movingTable {
	var sorted []movingTable
	for len(sorted) < len(tables) {
		before := len(sorted)
		// Add the tables whose parents have all been added. If no table could be added, no order
		// has parents before their children.
		for _, s := range tables {
			if !contains(sorted, s.TableName) && !slices.ContainsFunc(s.Foreign, func(f mycatalog.ForeignKey) bool { return !contains(sorted, f.Parent) }) {
				sorted = append(sorted, s)
			}
		}
		if len(sorted) == before {
			return nil
		}
	}
	return sorted
}
