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

// readKeys reads the largest key of each column, because it may be ahead of the clock,
// and the smallest, because a CHECK for positive keys may refuse it.
func readKeys(ctx context.Context, conn *sql.Conn, moved []*column) (map[*column]keyRange, error) {
	const query = "SELECT LEAST(MIN(%[1]s), 1), GREATEST(MAX(%[1]s), 0) FROM %[2]s"
	keys := map[*column]keyRange{}
	for _, c := range moved {
		if !c.Primary || c.Integer().Base == "" {
			continue
		}
		var of keyRange
		row := conn.QueryRowContext(ctx, fmt.Sprintf(query, mycatalog.Quote(c.Name), mycatalog.QuoteTable(c.Table.TableName)))
		if err := row.Scan(&of.smallest, &of.largest); err != nil {
			return nil, fmt.Errorf("sqlmigrate: table %s: read the largest key: %w", c.Table, err)
		}
		keys[c] = of
	}
	return keys, nil
}

// findBlockers returns the blockers of the plan, and notes.
func findBlockers(ctx context.Context, conn *sql.Conn, g *graph, want engine.Request) (engine.Findings, error) {
	var found engine.Findings
	for _, columns := range byTable(g.all()) {
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

// restrictedSQL returns a row if restrict_fk_on_non_standard_key is on, as on MySQL 8.4
// and later. Such a server does not add a foreign key back if it refers to columns that
// are not a unique key, although an earlier version has created it.
const restrictedSQL = "SHOW SESSION VARIABLES WHERE Variable_name = 'restrict_fk_on_non_standard_key' AND Value = 'ON'"

func blockRestricted(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	restricted, err := rows.Read[struct{ Name, Value string }](ctx, conn, restrictedSQL)
	if err != nil || len(restricted) == 0 {
		return found, err
	}
	for _, f := range g.allDropped() {
		if parent := g.Tables[f.Parent]; parent != nil && !g.Journal.Has(f) && !parent.IsUnique(f.Refers) {
			found.Block(g.Tables[f.Child].TableName, "foreign key "+f.Name, "it refers to columns that are not a unique key of table "+f.Parent.String()+", and MySQL would not add it back",
				"SET GLOBAL restrict_fk_on_non_standard_key = OFF and connect again, or give the table such a key")
		}
	}
	return found, nil
}

// noteUnsigned adds a single note on all keys that stay bigint unsigned. With GORM's uint
// keys, these are all keys.
func noteUnsigned(g *graph) (found engine.Findings) {
	keys := slices.DeleteFunc(slices.Concat(byTable(g.all())...), func(c *column) bool { return c.Integer() != mycatalog.UnsignedBigint || !c.Primary })
	if len(keys) > 0 {
		found.Note("These keys stay bigint unsigned, which holds every ID: %s. A new column with a foreign key to one of them has to be bigint unsigned too: write gorm:\"type:bigint unsigned\" on the field of the key, and GORM gives such columns its type.",
			mycatalog.Join(keys, ", ", (*column).String))
	}
	return found
}

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

func (g *graph) blockColumn(c *column, want engine.Request) (found engine.Findings) {
	switch {
	case c.Generated != "":
		found.Block(c.Table.TableName, "generated column "+c.Name, "the database computes it, and it refers to a key", "make it a plain column")
	case strings.HasSuffix(strings.ToLower(c.Type), " zerofill") && c.widens():
		found.Note("Column %s loses ZEROFILL.", c)
	}
	if keys := g.keys[c]; (c.widens() || c.assigned() != "") && want.IsAhead(keys.last().Int64()) {
		found.Block(c.Table.TableName, "column "+c.Name, fmt.Sprintf(engine.AheadReason, keys.largest.V), engine.AheadFix)
	}
	if mentions(partitionedBy(c.Table), c.Name) {
		found.Note("Table %s is partitioned by column %s: all new rows go into one partition.", c.Table, c.Name)
	}
	return found
}

// mentions reports whether an expression from the catalog contains the name of the
// column.
func mentions(expression, column string) bool {
	bare := strings.FieldsFunc(expression, func(r rune) bool { return strings.ContainsRune(" (),+-*/%", r) })
	return slices.ContainsFunc(append(mycatalog.QuotedNames(expression), bare...), func(name string) bool { return strings.EqualFold(name, column) })
}

// ranges matches the clause that partitions a table by RANGE or LIST. It captures only
// the first column, because only that can decide the partition alone.
var ranges = regexp.MustCompile(`(?m)^[ /*!\d]*PARTITION BY (?:RANGE|LIST) +(?:COLUMNS)?\((.*?)(?:,.*)?\)$`)

// partitionedBy returns the expression that decides the partition of a row. It returns ""
// if a partition exists for every key.
func partitionedBy(t *mycatalog.Table) string {
	if m := ranges.FindStringSubmatch(t.Options); m != nil {
		return m[1]
	}
	return ""
}
