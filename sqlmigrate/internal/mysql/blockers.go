package mysql

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/types"
)

// readKeys finds the largest key of each table, and whether a CHECK for
// positive keys would be refused.
func (in *inspection) readKeys() error {
	for _, c := range in.moved {
		if !c.primary {
			continue
		}
		query := "SELECT COALESCE(MAX(%[1]s), ''), COALESCE(MIN(%[1]s) <= 0, FALSE) FROM %[2]s"
		var largest string
		var notPositive bool
		row := in.conn.QueryRowContext(in.ctx, fmt.Sprintf(query, quote(c.name), quoteTable(c.table.name)))
		if err := row.Scan(&largest, &notPositive); err != nil {
			return fmt.Errorf("sqlmigrate: table %s: read the largest key: %w", c.table.name, err)
		}
		if c.table.maxKey == "" || above(largest, parseInt(c.table.maxKey)) {
			c.table.maxKey = largest
		}
		c.table.notPositive = c.table.notPositive || notPositive
	}
	return nil
}

// parseInt is the largest int64 if the number is beyond it.
func parseInt(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func above(s string, than int64) bool { return s != "" && parseInt(s) > than }

// findBlockers finds what would keep the plan from being carried out.
func (in *inspection) findBlockers() error {
	var unsigned []string
	for _, columns := range byTable(slices.Concat(in.moved, in.resumed)) {
		t := columns[0].table
		in.blockTable(t)
		for _, c := range columns {
			in.blockColumn(c)
			if c.typ() == (integerType{"bigint", true}) && c.primary {
				unsigned = append(unsigned, c.String())
			}
		}
		if err := in.blockPartitions(t, columns); err != nil {
			return fmt.Errorf("sqlmigrate: table %s: read its partitions: %w", t.name, err)
		}
	}
	in.noteUnsigned(unsigned)
	for _, step := range []func() error{in.noteRoutines, in.blockRestricted, in.blockOrphans} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// blockRestricted is about foreign keys that were made before MySQL 8.4, which
// adds none back to columns that are not a unique key.
func (in *inspection) blockRestricted() error {
	const query = "SHOW SESSION VARIABLES WHERE Variable_name = 'restrict_fk_on_non_standard_key' AND Value = 'ON'"
	return in.query(query, func(func(...any) error) error {
		for _, f := range in.dropped() {
			if parent := in.tables[f.parent]; parent != nil && !in.journal.has(f) && !parent.isUnique(f.refers) {
				in.block(in.tables[f.child], "foreign key "+f.name, "it refers to columns that are not a unique key of table "+f.parent.String()+", and MySQL would not add it back",
					"SET GLOBAL restrict_fk_on_non_standard_key = OFF and connect again, or give the table such a key")
			}
		}
		return nil
	})
}

func (t *table) isUnique(columns []string) bool {
	return slices.ContainsFunc(t.elements, func(e string) bool {
		e = strings.Replace(e, "PRIMARY KEY (", "UNIQUE KEY `` (", 1) // all but one have a name
		return strings.HasPrefix(e, "UNIQUE KEY ") && slices.EqualFunc(quotedNames(e)[1:], columns, strings.EqualFold)
	})
}

// noteUnsigned is one note, since GORM makes all its uint keys so.
func (in *inspection) noteUnsigned(keys []string) {
	if len(keys) > 0 {
		in.note("These keys stay bigint unsigned, which holds every ID: %s. A new column with a foreign key to one of them has to be bigint unsigned too: write gorm:\"type:bigint unsigned\" on the field of the key, and GORM gives such columns its type.",
			strings.Join(keys, ", "))
	}
}

func (in *inspection) blockTable(t *table) {
	if t.kind == "SYSTEM VERSIONED" {
		in.block(t, "table "+t.name.String(), "it is system-versioned, and its history keeps such a table from being changed",
			"ALTER TABLE … DROP SYSTEM VERSIONING, move it, and add it again")
	}
	if !strings.EqualFold(t.engine, "InnoDB") {
		in.note("Table %s has the engine %s, which has no foreign keys and can lose a change when the server dies.", t.name, t.engine)
	}
}

func (in *inspection) blockColumn(c *column) {
	t := c.table
	switch {
	case c.typ().base == "":
		in.blockForeignType(c)
	case c.generated != "":
		in.block(t, "generated column "+c.name, "the database computes it, and it refers to a key", "make it a plain column")
	case strings.HasSuffix(strings.ToLower(c.columnType), " zerofill") && c.widens():
		in.note("Column %s loses ZEROFILL.", c)
	}
	if in.want.Ahead > 0 && c.primary && slices.Contains(in.moved, c) && (c.widens() || c.assigned() != "") &&
		above(t.maxKey, in.want.Ahead-1) {
		in.block(t, "column "+c.name, fmt.Sprintf(engine.AheadReason, t.maxKey), engine.AheadFix)
	}
	for _, g := range t.columns {
		in.blockGenerated(c, g)
	}
}

var textType = regexp.MustCompile(`^(?i)(?:var)?(?:char|binary)\((\d+)\)`)

// blockForeignType is about a column that refers to a key without a constraint.
func (in *inspection) blockForeignType(c *column) {
	const digits = 19
	if strings.Contains(strings.ToLower(c.columnType), "text") {
		return
	}
	if m := textType.FindStringSubmatch(c.columnType); m != nil && parseInt(m[1]) >= digits {
		return
	}
	in.block(c.table, "column "+c.name, "its type is "+c.columnType+", which does not hold every ID",
		"make it bigint, or a string of 19 characters or more")
}

// blockGenerated is about what is computed from a column. The servers accept
// the change, and refuse rows afterwards whose value no longer fits.
func (in *inspection) blockGenerated(c, g *column) {
	if g.generated == "" || g == c || !c.widens() || !mentions(g.generated, c.name) {
		return
	}
	if base := typeOf(g.columnType).base; base != "" && base != "bigint" {
		in.block(c.table, "generated column "+g.name, "it is computed from column "+c.name+" and is "+g.columnType+", which does not hold every ID",
			"ALTER TABLE … MODIFY it to bigint")
		return
	}
	in.note("Generated column %s is computed from column %s: make sure that its type, %s, is wide enough.", g, c.name, g.columnType)
}

// mentions is true if an expression of the catalog names the column.
func mentions(expression, column string) bool {
	if slices.ContainsFunc(quotedNames(expression), func(name string) bool { return strings.EqualFold(name, column) }) {
		return true
	}
	bare := strings.FieldsFunc(expression, func(r rune) bool { return strings.ContainsRune(" (),+-*/%", r) })
	return slices.ContainsFunc(bare, func(word string) bool { return strings.EqualFold(word, column) })
}

const partitions = "SELECT PARTITION_NAME, PARTITION_METHOD, COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, '') " +
	"FROM information_schema.PARTITIONS WHERE PARTITION_NAME IS NOT NULL AND "

// defaultPartition is one that takes what no other lists. Only the
// definition tells it apart.
var defaultPartition = regexp.MustCompile("PARTITION `(?:[^`]|``)+` DEFAULT\\b")

// blockPartitions looks for a partition that takes what has no limit.
func (in *inspection) blockPartitions(t *table, columns []*column) error {
	last, by, open := "", "", false
	err := in.query(partitions+whereTable(t.name)+" ORDER BY PARTITION_ORDINAL_POSITION", func(scan func(...any) error) error {
		var method, expression, limit string
		if err := scan(&last, &method, &expression, &limit); err != nil {
			return err
		}
		switch {
		case method == "RANGE COLUMNS": // the others decide only where the first is equal to the limit
			by, _, _ = strings.Cut(expression, ",")
		case strings.HasPrefix(method, "RANGE"), strings.HasPrefix(method, "LIST"):
			by = expression
		}
		open = strings.HasPrefix(limit, "MAXVALUE") || defaultPartition.MatchString(t.options)
		return nil
	})
	if err != nil || by == "" {
		return err
	}
	for _, c := range columns {
		switch {
		case !mentions(by, c.name):
		case open:
			in.note("Table %s is partitioned by column %s: all new rows go into one partition.", t.name, c.name)
		default:
			in.block(t, "partition "+last, "the table is partitioned by column "+c.name+", and no partition takes Snowflake IDs",
				"ALTER TABLE … ADD PARTITION one with VALUES LESS THAN MAXVALUE, or a DEFAULT one")
		}
	}
	return nil
}

func keyID(s string) types.ID { return types.ID(max(parseInt(s), 0)) }
