package mysql

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

// The journal is a table in the current database. A phase that a failure could
// leave half-way writes into it first what its statements take away: foreign
// keys that are dropped for the time being, and columns as they were. It is
// dropped at the end of the phase. An inspection in between sees the schema as
// it was, so the plan is the same again, and its statements leave out what is
// done. Programs other than the package have no use for it.
type journal struct{ entries []entry }

const journalTable = "sqlmigrate_journal"

const hasJournal = "(SELECT COUNT(*) = 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + journalTable + "')"

type entryKind string

const (
	columnEntry  entryKind = "column"
	foreignEntry entryKind = "foreign key"
)

type entry struct {
	kind       entryKind
	table      engine.TableName // normal
	name       string
	definition string
}

func (in *inspection) readJournal() error {
	var there bool
	err := in.conn.QueryRowContext(in.ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE "+
		whereTable(engine.TableName{Name: journalTable})).Scan(&there)
	if err != nil {
		return fmt.Errorf("sqlmigrate: look for table %s: %w", journalTable, err)
	}
	if !there {
		return nil
	}
	in.journal = &journal{}
	err = in.query("SELECT kind, table_schema, table_name, name, definition FROM "+quote(journalTable)+" ORDER BY id",
		func(scan func(...any) error) error {
			var e entry
			if err := scan(&e.kind, &e.table.Schema, &e.table.Name, &e.name, &e.definition); err != nil {
				return err
			}
			in.journal.entries = append(in.journal.entries, e)
			return nil
		})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("sqlmigrate: read table %s, where an earlier run has left what it had to put back: %w", journalTable, err)
	}
	return nil
}

// overlay makes t what it was before.
func (j *journal) overlay(t *table) {
	if j == nil {
		return
	}
	for _, e := range j.entries {
		if e.table != t.name {
			continue
		}
		if f, ok := e.foreignKey(); ok && !t.hasForeignKey(f.name) {
			t.foreign = append(t.foreign, f)
		}
		if c := t.column(e.name); c != nil && e.kind == columnEntry {
			c.definition = definition(e.definition)
		}
	}
}

func (t *table) hasForeignKey(name string) bool {
	for _, f := range t.foreign {
		if strings.EqualFold(f.name, name) {
			return true
		}
	}
	return false
}

func (e entry) foreignKey() (foreignKey, bool) {
	if e.kind != foreignEntry {
		return foreignKey{}, false
	}
	return parseForeignKey(e.table, e.definition)
}

func (j *journal) pairs() []pair {
	if j == nil {
		return nil
	}
	var pairs []pair
	for _, e := range j.entries {
		if f, ok := e.foreignKey(); ok {
			pairs = append(pairs, pair{f.child, f.parent})
		}
	}
	return pairs
}

// id names what the entry is about: the first one of a name has the old state.
func (e entry) id() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(e.kind), e.table.Schema, e.table.Name, e.name}, "\x00")))
	return hex.EncodeToString(sum[:])
}

const createJournal = "CREATE TABLE IF NOT EXISTS `" + journalTable + "` (" +
	"id char(64) CHARACTER SET ascii NOT NULL PRIMARY KEY, kind varchar(16) NOT NULL, " +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, name varchar(64) NOT NULL, definition mediumtext NOT NULL" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: what a run that is under way has to put back'"

func openJournal(entries []entry) []engine.Statement {
	statements := []engine.Statement{{SQL: createJournal}}
	if len(entries) == 0 {
		return statements
	}
	rows := make([]string, len(entries))
	for i, e := range entries {
		rows[i] = "(" + literals([]string{e.id(), string(e.kind), e.table.Schema, e.table.Name, e.name, e.definition}) + ")"
	}
	statements = append(statements, missing(entries)...)
	return append(statements, engine.Statement{SQL: "INSERT INTO `" + journalTable +
		"` (id, kind, table_schema, table_name, name, definition) VALUES\n" + strings.Join(rows, ",\n") +
		"\nON DUPLICATE KEY UPDATE definition = definition"})
}

// closeJournal leaves the table to others if it has entries of theirs.
func closeJournal(entries []entry) []engine.Statement {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id()
	}
	drop := engine.Statement{
		SQL:    "DROP TABLE `" + journalTable + "`",
		Unless: "SELECT COUNT(*) > 0 FROM `" + journalTable + "`",
	}
	if len(ids) == 0 {
		return []engine.Statement{drop}
	}
	return []engine.Statement{{SQL: "DELETE FROM `" + journalTable + "` WHERE id IN (" + literals(ids) + ")"}, drop}
}

// journalled puts the journal around the steps of a phase.
func journalled(steps []engine.Step, entries []entry) []engine.Step {
	begin := engine.Step{
		Table: journalTable, Text: "write down what a run that fails half-way would otherwise lose",
		Up: openJournal(entries), Down: closeJournal(entries),
	}
	end := engine.Step{
		Table: journalTable, Text: "remove it: everything is in place",
		Up: closeJournal(entries), Down: openJournal(entries),
	}
	return append(append([]engine.Step{begin}, steps...), end)
}

// merge keeps the older one of two entries for the same.
func merge(entries, older []entry) []entry {
	merged := append([]entry{}, older...)
	seen := map[string]bool{}
	for _, e := range older {
		seen[e.id()] = true
	}
	for _, e := range entries {
		if !seen[e.id()] {
			merged = append(merged, e)
		}
	}
	return merged
}

func (j *journal) has(f foreignKey) bool {
	return j != nil && slices.ContainsFunc(j.entries, func(e entry) bool {
		return e.kind == foreignEntry && e.table == f.child && strings.EqualFold(e.name, f.name)
	})
}
