package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

// readKeys reads the smallest and the largest key of each moved column that is an integer
// and part of a primary key. The largest key may be ahead of the clock, so that a
// generator could issue it later. The smallest key may violate the CHECK for positive
// keys. LEAST and GREATEST keep the two values in the range of their Go types, because a
// bigint unsigned can be above each int64, and a signed key can be negative.
func readKeys(ctx context.Context, conn *sql.Conn, moved []*column) (map[*column]keyRange, error) {
	const query = "SELECT LEAST(MIN(%[1]s), 1), GREATEST(MAX(%[1]s), 0) FROM %[2]s"
	keys := map[*column]keyRange{}
	for _, c := range moved {
		if !c.Primary || c.Integer().Base == "" {
			continue
		}
		var found keyRange
		row := conn.QueryRowContext(ctx, fmt.Sprintf(query, mycatalog.Quote(c.Name), mycatalog.QuoteTable(c.Table.TableName)))
		if err := row.Scan(&found.smallest, &found.largest); err != nil {
			return nil, fmt.Errorf("sqlmigrate: table %s: read the largest key: %w", c.Table, err)
		}
		keys[c] = found
	}
	return keys, nil
}

// findBlockers returns the blockers of the plan, for example rows that violate a foreign
// key, and the notes for its users. want is the request of the caller.
func findBlockers(ctx context.Context, conn *sql.Conn, g *graph, want engine.Request) (engine.Findings, error) {
	var found engine.Findings
	for _, columns := range byTable(g.allColumns()) {
		t := columns[0].Table
		found.Add(blockTable(t))
		for _, c := range columns {
			found.Add(g.blockColumn(c, want))
		}
	}
	found.Add(noteUnsigned(g))
	for _, find := range []func(context.Context, *sql.Conn, *graph) (engine.Findings, error){noteRoutines, blockRestricted, blockOrphans} {
		more, err := find(ctx, conn, g)
		if err != nil {
			return found, err
		}
		found.Add(more)
	}
	return found, nil
}

// restrictedSQL returns a row if the setting restrict_fk_on_non_standard_key is on, which
// is the default of MySQL 8.4 and later. The server then rejects a new foreign key that
// refers to columns without a unique key, although an earlier version has accepted it.
const restrictedSQL = "SHOW SESSION VARIABLES WHERE Variable_name = 'restrict_fk_on_non_standard_key' AND Value = 'ON'"

// blockRestricted returns a blocker for each foreign key that phase widen would drop and
// that the server would not add back, because it refers to columns that are not a unique
// key (see restrictedSQL). It leaves out a foreign key that an unfinished run may have
// dropped already, because the plan must add it back in any case.
func blockRestricted(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	restricted, err := rows.Read[struct{ Name, Value string }](ctx, conn, restrictedSQL)
	if err != nil || len(restricted) == 0 {
		return found, err
	}
	for _, f := range g.allDropped() {
		// parent may be nil only for a foreign key of the journal.
		if parent := g.Tables[f.Parent]; parent != nil && !g.Journal.Has(f) && !parent.IsUnique(f.Refers) {
			found.Block(g.Tables[f.Child].TableName, "foreign key "+f.Name, "it refers to columns that are not a unique key of table "+f.Parent.String()+", and MySQL would not add it back",
				"SET GLOBAL restrict_fk_on_non_standard_key = OFF and connect again, or give the table such a key")
		}
	}
	return found, nil
}

// noteUnsigned returns one note on all keys that are bigint unsigned, which the plan does
// not change. It is one note because a program with GORM's uint keys has such a key in
// every table.
func noteUnsigned(g *graph) (found engine.Findings) {
	keys := slices.DeleteFunc(slices.Concat(byTable(g.allColumns())...), func(c *column) bool { return c.Integer() != mycatalog.UnsignedBigint || !c.Primary })
	if len(keys) > 0 {
		found.Note("These keys stay bigint unsigned, which holds every ID: %s. A new column with a foreign key to one of them has to be bigint unsigned too: write gorm:\"type:bigint unsigned\" on the field of the key, and GORM gives such columns its type.",
			engine.List(engine.Converted(keys, (*column).String)))
	}
	return found
}

// blockTable returns a blocker for a system-versioned table, and a note on a table of
// another storage engine than InnoDB. A system-versioned table of MariaDB keeps old
// versions of its rows.
func blockTable(t *mycatalog.Table) (found engine.Findings) {
	if t.Kind == "SYSTEM VERSIONED" {
		found.Block(t.TableName, "table "+t.String(), "it is system-versioned, and its history keeps such a table from being changed",
			"ALTER TABLE … DROP SYSTEM VERSIONING, move it, and add it again")
	}
	if !strings.EqualFold(t.Engine, "InnoDB") {
		found.Note("Table %s has the engine %s, which has no foreign keys and can lose a change when the server dies.", t, t.Engine)
	}
	return found
}

// blockColumn returns the blockers of a column of the plan, and notes on changes that its
// user may not expect. A key that is ahead of the clock is a blocker, because a generator
// could issue the same number later. Such a key blocks the plan only if the plan widens the
// column, or if the database assigns the column, because the plan does not change other
// columns.
func (g *graph) blockColumn(c *column, want engine.Request) (found engine.Findings) {
	switch {
	case c.Generated != "":
		found.Block(c.Table.TableName, "generated column "+c.Name, "the database computes it, and it refers to a key", "make it a plain column")
	case strings.HasSuffix(strings.ToLower(c.Type), " zerofill") && c.widens():
		found.Note("Column %s loses ZEROFILL.", c)
	}
	if keys := g.keys[c]; (c.widens() || c.assignedBy() != "") && want.IsAhead(keys.last().Int64()) {
		found.Block(c.Table.TableName, "column "+c.Name, fmt.Sprintf(engine.AheadReason, keys.largest.V), engine.AheadFix)
	}
	if mentions(partitionedBy(c.Table), c.Name) {
		found.Note("Table %s is partitioned by column %s: all new rows go into one partition.", c.Table, c.Name)
	}
	return found
}

// mentions reports whether an expression from the catalog, for example `id` DIV 10,
// contains the name of the column, with or without backticks.
func mentions(expression, column string) bool {
	// The words between blanks, parentheses and operators.
	unquoted := strings.FieldsFunc(expression, func(r rune) bool { return strings.ContainsRune(" (),+-*/%", r) })
	return slices.ContainsFunc(append(mycatalog.QuotedNames(expression), unquoted...), func(name string) bool { return strings.EqualFold(name, column) })
}

// rangePartitions matches the clause of a table that is partitioned by RANGE or LIST,
// which SHOW CREATE TABLE writes on a line of its own, for example
//
//	/*!50100 PARTITION BY RANGE (`id`)
//	/*!50500 PARTITION BY RANGE  COLUMNS(id,paid)
//
// It captures only the first column or expression, here id. A further column only matters
// for rows whose first value is equal to the bound of a partition.
var rangePartitions = regexp.MustCompile(`(?m)^[ /*!\d]*PARTITION BY (?:RANGE|LIST) +(?:COLUMNS)?\((.*?)(?:,.*)?\)$`)

// partitionedBy returns the column or expression that decides the partition of a row, for
// example `id`, if there can be a value without a partition. It returns "" for a table
// without partitions. It also returns "" for a table that is partitioned by HASH or KEY,
// because such a table has a partition for every key.
func partitionedBy(t *mycatalog.Table) string {
	if m := rangePartitions.FindStringSubmatch(t.Options); m != nil {
		return m[1]
	}
	return ""
}
