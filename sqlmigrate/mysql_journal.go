package sqlmigrate

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
// dropped when the phase is over. What is inspected in between is the schema
// of before, so that the same plan is made again, and its statements leave out
// what is done. Programs other than the package have no use for it.
type mysqlJournal struct{ entries []mysqlEntry }

const mysqlJournalTable = "sqlmigrate_journal"

const mysqlHasJournal = "(SELECT COUNT(*) = 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + mysqlJournalTable + "')"

type mysqlEntryKind string

const (
	mysqlColumnEntry  mysqlEntryKind = "column"
	mysqlForeignEntry mysqlEntryKind = "foreign key"
)

type mysqlEntry struct {
	kind       mysqlEntryKind
	table      engine.TableName // normal
	name       string
	definition string
}

func (in *mysqlInspection) readJournal() error {
	var there bool
	err := in.conn.QueryRowContext(in.ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE "+
		whereTable(engine.TableName{Name: mysqlJournalTable})).Scan(&there)
	if err != nil {
		return fmt.Errorf("sqlmigrate: look for table %s: %w", mysqlJournalTable, err)
	}
	if !there {
		return nil
	}
	in.journal = &mysqlJournal{}
	err = in.query("SELECT kind, table_schema, table_name, name, definition FROM "+mysqlQuote(mysqlJournalTable)+" ORDER BY id",
		func(scan func(...any) error) error {
			var e mysqlEntry
			if err := scan(&e.kind, &e.table.Schema, &e.table.Name, &e.name, &e.definition); err != nil {
				return err
			}
			in.journal.entries = append(in.journal.entries, e)
			return nil
		})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("sqlmigrate: read table %s, where an earlier run has left what it had to put back: %w", mysqlJournalTable, err)
	}
	return nil
}

// overlay makes t what it was before.
func (j *mysqlJournal) overlay(t *mysqlTable) {
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
		if c := t.column(e.name); c != nil && e.kind == mysqlColumnEntry {
			c.definition = mysqlDefinition(e.definition)
		}
	}
}

func (t *mysqlTable) hasForeignKey(name string) bool {
	for _, f := range t.foreign {
		if strings.EqualFold(f.name, name) {
			return true
		}
	}
	return false
}

func (e mysqlEntry) foreignKey() (mysqlForeignKey, bool) {
	if e.kind != mysqlForeignEntry {
		return mysqlForeignKey{}, false
	}
	return mysqlParseForeignKey(e.table, e.definition)
}

func (j *mysqlJournal) pairs() []mysqlPair {
	if j == nil {
		return nil
	}
	var pairs []mysqlPair
	for _, e := range j.entries {
		if f, ok := e.foreignKey(); ok {
			pairs = append(pairs, mysqlPair{f.child, f.parent})
		}
	}
	return pairs
}

// id names what the entry is about: the first one of a name is that of before.
func (e mysqlEntry) id() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(e.kind), e.table.Schema, e.table.Name, e.name}, "\x00")))
	return hex.EncodeToString(sum[:])
}

const mysqlCreateJournal = "CREATE TABLE IF NOT EXISTS `" + mysqlJournalTable + "` (" +
	"id char(64) CHARACTER SET ascii NOT NULL PRIMARY KEY, kind varchar(16) NOT NULL, " +
	"table_schema varchar(64) NOT NULL, table_name varchar(64) NOT NULL, name varchar(64) NOT NULL, definition mediumtext NOT NULL" +
	") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='sqlmigrate: what a run that is under way has to put back'"

func mysqlOpenJournal(entries []mysqlEntry) []engine.Statement {
	statements := []engine.Statement{{SQL: mysqlCreateJournal}}
	if len(entries) == 0 {
		return statements
	}
	rows := make([]string, len(entries))
	for i, e := range entries {
		rows[i] = "(" + mysqlLiterals([]string{e.id(), string(e.kind), e.table.Schema, e.table.Name, e.name, e.definition}) + ")"
	}
	statements = append(statements, mysqlMissing(entries)...)
	return append(statements, engine.Statement{SQL: "INSERT INTO `" + mysqlJournalTable +
		"` (id, kind, table_schema, table_name, name, definition) VALUES\n" + strings.Join(rows, ",\n") +
		"\nON DUPLICATE KEY UPDATE definition = definition"})
}

// mysqlCloseJournal leaves the table to others if it has entries of theirs.
func mysqlCloseJournal(entries []mysqlEntry) []engine.Statement {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id()
	}
	drop := engine.Statement{
		SQL:    "DROP TABLE `" + mysqlJournalTable + "`",
		Unless: "SELECT COUNT(*) > 0 FROM `" + mysqlJournalTable + "`",
	}
	if len(ids) == 0 {
		return []engine.Statement{drop}
	}
	return []engine.Statement{{SQL: "DELETE FROM `" + mysqlJournalTable + "` WHERE id IN (" + mysqlLiterals(ids) + ")"}, drop}
}

// mysqlJournalled puts the journal around the steps of a phase.
func mysqlJournalled(steps []engine.Step, entries []mysqlEntry) []engine.Step {
	begin := engine.Step{
		Table: mysqlJournalTable, Text: "write down what a run that fails half-way would otherwise lose",
		Up: mysqlOpenJournal(entries), Down: mysqlCloseJournal(entries),
	}
	end := engine.Step{
		Table: mysqlJournalTable, Text: "remove it: everything is in place",
		Up: mysqlCloseJournal(entries), Down: mysqlOpenJournal(entries),
	}
	return append(append([]engine.Step{begin}, steps...), end)
}

// mysqlMerge keeps the older one of two entries for the same.
func mysqlMerge(entries, older []mysqlEntry) []mysqlEntry {
	merged := append([]mysqlEntry{}, older...)
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

func (j *mysqlJournal) has(f mysqlForeignKey) bool {
	return j != nil && slices.ContainsFunc(j.entries, func(e mysqlEntry) bool {
		return e.kind == mysqlForeignEntry && e.table == f.child && strings.EqualFold(e.name, f.name)
	})
}
