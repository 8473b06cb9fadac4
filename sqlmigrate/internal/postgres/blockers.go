package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgcatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// blockTables checks the tables and columns themselves.
func blockTables(g *graph, want engine.Request) engine.Findings {
	var found engine.Findings
	for _, t := range g.tables {
		for _, c := range t.columns {
			found.Add(blockColumn(c, want))
		}
		found.Add(blockTable(t))
	}
	return found
}

// digits is how many the largest ID has in decimal.
const digits = 19

// blockColumn checks the type of a column and what is in it. Of types that are no
// integers, a key can have none, and a column that refers to one those that hold
// each of its digits.
func blockColumn(c *column, want engine.Request) engine.Findings {
	var found engine.Findings
	block := func(reason, fix string) { found.Block(c.relation.Display, "column "+c.Name, reason, fix) }
	if c.Key && want.IsAhead(c.keys.Largest.Int64) {
		block(fmt.Sprintf(engine.AheadReason, c.keys.Largest.Int64), engine.AheadFix)
	}
	switch {
	case c.Base == "int8":
	case c.Base == "int2" || c.Base == "int4":
		if c.Domain {
			block("its type is domain "+c.Type+" over an integer that is too small",
				"change the column to a domain over bigint, or to bigint, with all columns of the domain that refer to it")
		}
	case c.Key:
		block("it is a key of type "+c.Type+", not an integer", "leave the table out")
	case c.Base == "text" || c.Base == "_int8":
	case c.Base == "numeric" || c.Base == "varchar" || c.Base == "bpchar":
		if c.Length >= 0 && c.Length < digits {
			block(fmt.Sprintf("its type %s does not hold the %d digits of an ID", c.Type, digits), c.typeFix())
		}
	default:
		block("its type "+c.Type+" does not hold every ID", c.typeFix())
	}
	return found
}

// typeFix is for a column that refers to a key.
func (c *column) typeFix() string {
	to := "bigint"
	switch {
	case strings.HasSuffix(c.Type, "[]"):
		to = "bigint[]"
	case c.Base == "varchar" || c.Base == "bpchar":
		to = fmt.Sprintf("varchar(%d) or text", digits)
	case c.Base == "uuid" || c.Base == "bytea" || c.Base == "json" || c.Base == "jsonb":
		return "leave the reference out: values of this type are not these keys"
	}
	return fmt.Sprintf("change its type to %s: ALTER TABLE %s ALTER COLUMN %s TYPE %s", to, c.relation.Target(), pgsql.Quote(c.Name), strings.TrimSuffix(to, " or text"))
}

func blockTable(t *table) engine.Findings {
	var found engine.Findings
	for _, c := range t.narrowColumns() {
		if t.Typed {
			found.Block(t.Display, "table "+t.Display,
				"it is a table of a composite type, and column "+c.Name+" can be changed with that only",
				"ALTER TABLE … NOT OF, or change the type with CASCADE")
		}
		for _, m := range c.members {
			if m.relation.Kind == "f" && (m == c || m.relation.Partition) { // an index of all partitions would come back invalid
				found.Block(t.Display, "foreign table "+m.relation.Display, "column "+c.Name+" is in another database",
					"move the table there, and then change the type of the column here"+pgsql.If(m != c, ", with the partition detached"))
			}
		}
	}
	return found
}

// reasons are those for which PostgreSQL does not change the type of a
// column, by the catalog in which its user is.
var reasons = map[string][2]string{
	"pg_rewrite":         {"it uses column %s, whose type PostgreSQL then does not change", "let the plan do it (WithRecreateViews) if it is a view, or drop it before, and create it again afterwards with its owner, grants and comment"},
	"pg_attrdef":         {"it is generated from column %s, whose type PostgreSQL then does not change", "drop it before, and add it again afterwards"},
	"pg_class":           {"it is generated from column %s, whose type PostgreSQL then does not change", "drop it before, and add it again afterwards"},
	"pg_trigger":         {"it names column %s in UPDATE OF or WHEN, so PostgreSQL does not change the column's type", "drop it before, and create it again afterwards"},
	"pg_policy":          {"it uses column %s, whose type PostgreSQL then does not change", "drop it before, and create it again afterwards, in one transaction"},
	"pg_proc":            {"its body uses column %s, whose type PostgreSQL then does not change", "drop it before, and create it again afterwards, or write its body as a string"},
	"pg_publication_rel": {"it names column %s, whose type PostgreSQL then does not change", "take the table out of the publication before, and add it again afterwards"},
}

// blockUses has one blocker for an object, whichever columns it uses.
func blockUses(g *graph, uses []pgcatalog.Use) engine.Findings {
	columns := map[string][]*column{}
	for _, u := range uses {
		columns[u.Object] = append(columns[u.Object], g.columns[u.Node])
	}
	var found engine.Findings
	for _, u := range uses {
		if of := columns[u.Object]; of != nil {
			delete(columns, u.Object)
			found.Add(blockUse(u, of))
		}
	}
	return found
}

// blockUse names of several columns of one table the first: that is enough.
func blockUse(u pgcatalog.Use, of []*column) engine.Findings {
	texts, ok := reasons[u.Catalog]
	if !ok {
		texts = [2]string{"it depends on column %s", "drop it before, and create it again afterwards"}
	}
	var tables, columns []string
	for _, c := range of {
		if table := c.relation.Display; !slices.Contains(tables, table) {
			tables, columns = append(tables, table), append(columns, table+"."+c.Name)
		}
	}
	if len(tables) == 1 {
		columns[0] = of[0].Name
	}
	var found engine.Findings
	found.Block(strings.Join(tables, ", "), u.Object, fmt.Sprintf(texts[0], strings.Join(columns, ", ")), texts[1]+pgsql.If(u.Drop != "", ": "+u.Drop+"; to restore it: "+strings.Join(u.Create, "; ")))
	found.Blockers[0].InPlace = true
	return found
}
