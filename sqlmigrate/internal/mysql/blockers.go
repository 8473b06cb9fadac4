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

// readKeys asks for the largest key of each table, which may be ahead of the clock, and
// whether a CHECK for positive keys would be refused.
func readKeys(ctx context.Context, conn *sql.Conn, moved []*column) (map[*mycatalog.Table]keyRange, error) {
	const query = "SELECT COALESCE(MAX(%[1]s), ''), COALESCE(MIN(%[1]s) <= 0, FALSE) FROM %[2]s"
	keys := map[*mycatalog.Table]keyRange{}
	for _, c := range moved {
		if !c.Primary {
			continue
		}
		var of keyRange
		row := conn.QueryRowContext(ctx, fmt.Sprintf(query, mycatalog.Quote(c.Name), mycatalog.QuoteTable(c.Table.TableName)))
		if err := row.Scan(&of.largest, &of.notPositive); err != nil {
			return nil, fmt.Errorf("sqlmigrate: table %s: read the largest key: %w", c.Table, err)
		}
		known := keys[c.Table]
		if known.largest != "" && !above(of.largest, parseInt(known.largest)) {
			of.largest = known.largest
		}
		of.notPositive = of.notPositive || known.notPositive
		keys[c.Table] = of
	}
	return keys, nil
}

// findBlockers finds what would keep the plan from being carried out.
func findBlockers(ctx context.Context, conn *sql.Conn, g *graph, want engine.Request) (engine.Findings, error) {
	var found engine.Findings
	for _, columns := range byTable(g.all()) {
		t := columns[0].Table
		found.Add(blockTable(t))
		for _, c := range columns {
			found.Add(g.blockColumn(c, want))
		}
		p, err := readPartitions(ctx, conn, t)
		if err != nil {
			return found, fmt.Errorf("sqlmigrate: table %s: read its partitions: %w", t, err)
		}
		found.Add(p.block(t, columns))
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

// restrictedSQL has a row on MySQL 8.4 and later, which does not add a foreign key back
// to columns that are not a unique key, though earlier versions have created it.
const restrictedSQL = "SHOW SESSION VARIABLES WHERE Variable_name = 'restrict_fk_on_non_standard_key' AND Value = 'ON'"

func blockRestricted(ctx context.Context, conn *sql.Conn, g *graph) (found engine.Findings, err error) {
	restricted, err := rows.Read[struct{ Name, Value string }](ctx, conn, restrictedSQL)
	if err != nil || len(restricted) == 0 {
		return found, err
	}
	for _, f := range g.allDropped() {
		if parent := g.tables[f.Parent]; parent != nil && !g.journal.Has(f) && !parent.IsUnique(f.Refers) {
			found.Block(g.tables[f.Child].String(), "foreign key "+f.Name, "it refers to columns that are not a unique key of table "+f.Parent.String()+", and MySQL would not add it back",
				"SET GLOBAL restrict_fk_on_non_standard_key = OFF and connect again, or give the table such a key")
		}
	}
	return found, nil
}

// noteUnsigned is one note, since GORM makes all its uint keys so.
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
		found.Block(t.String(), "table "+t.String(), "it is system-versioned, and its history keeps such a table from being changed",
			"ALTER TABLE … DROP SYSTEM VERSIONING, move it, and add it again")
	}
	if !strings.EqualFold(t.Engine, "InnoDB") {
		found.Note("Table %s has the engine %s, which has no foreign keys and can lose a change when the server dies.", t, t.Engine)
	}
	return found
}

func (g *graph) blockColumn(c *column, want engine.Request) (found engine.Findings) {
	switch {
	case c.Integer().Base == "":
		found = blockForeignType(c)
	case c.Generated != "":
		found.Block(c.Table.String(), "generated column "+c.Name, "the database computes it, and it refers to a key", "make it a plain column")
	case strings.HasSuffix(strings.ToLower(c.Type), " zerofill") && c.widens():
		found.Note("Column %s loses ZEROFILL.", c)
	}
	if largest := g.keys[c.Table].largest; c.Primary && slices.Contains(g.moved, c) &&
		(c.widens() || c.Assigned() != "") && want.IsAhead(parseInt(largest)) {
		found.Block(c.Table.String(), "column "+c.Name, fmt.Sprintf(engine.AheadReason, largest), engine.AheadFix)
	}
	for _, computed := range c.Table.Columns {
		found.Add(blockGenerated(c, computed))
	}
	return found
}

var textType = regexp.MustCompile(`^(?i)(?:var)?(?:char|binary)\((\d+)\)`)

// blockForeignType is about a column that refers to a key without a constraint.
func blockForeignType(c *column) (found engine.Findings) {
	const digits = 19
	m := textType.FindStringSubmatch(c.Type)
	if strings.Contains(strings.ToLower(c.Type), "text") || m != nil && parseInt(m[1]) >= digits {
		return found
	}
	found.Block(c.Table.String(), "column "+c.Name, "its type is "+c.Type+", which does not hold every ID",
		"make it bigint, or a string of 19 characters or more")
	return found
}

// blockGenerated is about a column that is computed from c. The servers accept the
// change, and refuse rows afterwards whose value no longer fits.
func blockGenerated(c *column, computed *mycatalog.Column) (found engine.Findings) {
	if computed.Generated == "" || computed == c.Column || !c.widens() || !mentions(computed.Generated, c.Name) {
		return found
	}
	if base := mycatalog.IntegerOf(computed.Type).Base; base != "" && base != "bigint" {
		found.Block(c.Table.String(), "generated column "+computed.Name, "it is computed from column "+c.Name+" and is "+computed.Type+", which does not hold every ID",
			"ALTER TABLE … MODIFY it to bigint")
		return found
	}
	found.Note("Generated column %s is computed from column %s: make sure that its type, %s, is wide enough.", computed, c.Name, computed.Type)
	return found
}

// mentions reports whether an expression of the catalog names the column.
func mentions(expression, column string) bool {
	bare := strings.FieldsFunc(expression, func(r rune) bool { return strings.ContainsRune(" (),+-*/%", r) })
	return slices.ContainsFunc(append(mycatalog.QuotedNames(expression), bare...), func(name string) bool { return strings.EqualFold(name, column) })
}

// A partitioning is how a table is divided.
type partitioning struct {
	by   string // the expression that decides; empty: any key fits
	last string // a partition
	open bool   // it takes what no other does
}

// partitionsSQL asks for the limits of each partition: one may take what has no limit.
const partitionsSQL = "SELECT PARTITION_NAME, PARTITION_METHOD, COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, '') " +
	"FROM information_schema.PARTITIONS WHERE PARTITION_NAME IS NOT NULL AND %s ORDER BY PARTITION_ORDINAL_POSITION"

// defaultPartition is one that takes what no other lists. Only the definition shows it.
var defaultPartition = regexp.MustCompile("PARTITION `(?:[^`]|``)+` DEFAULT\\b")

func readPartitions(ctx context.Context, conn *sql.Conn, t *mycatalog.Table) (p partitioning, err error) {
	partitions, err := rows.Read[struct{ Name, Method, Expression, Limit string }](ctx, conn, fmt.Sprintf(partitionsSQL, mycatalog.WhereTable(t.TableName)))
	for _, one := range partitions {
		switch {
		case one.Method == "RANGE COLUMNS": // the others decide only where the first is equal to the limit
			p.by, _, _ = strings.Cut(one.Expression, ",")
		case strings.HasPrefix(one.Method, "RANGE"), strings.HasPrefix(one.Method, "LIST"):
			p.by = one.Expression
		}
		p.last = one.Name
		p.open = strings.HasPrefix(one.Limit, "MAXVALUE") || defaultPartition.MatchString(t.Options)
	}
	return p, err
}

func (p partitioning) block(t *mycatalog.Table, columns []*column) (found engine.Findings) {
	for _, c := range columns {
		switch {
		case p.by == "" || !mentions(p.by, c.Name):
		case p.open:
			found.Note("Table %s is partitioned by column %s: all new rows go into one partition.", t, c.Name)
		default:
			found.Block(t.String(), "partition "+p.last, "the table is partitioned by column "+c.Name+", and no partition takes Snowflake IDs",
				"ALTER TABLE … ADD PARTITION one with VALUES LESS THAN MAXVALUE, or a DEFAULT one")
		}
	}
	return found
}
