package mysql

import (
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// guardPhase returns the phase that adds a CHECK that the key is positive, so that the
// server rejects a row whose key a program has not set. It leaves out keys that refer to
// another key, because the table of that key has the CHECK. A table that holds a key that
// is not positive cannot get the CHECK. The phase leaves such a table out, and found has an
// omission for the table.
func guardPhase(g *graph) (phase plan.Phase, found engine.Findings) {
	phase.Name = plan.Guard
	for _, c := range slices.Concat(byTable(g.moved)...) {
		switch keys := g.keys[c]; {
		case !c.Primary || c.HasForeignKey() || len(c.refers) > 0 || c.Integer().Base == "" || hasGuard(c):
			// The column needs no CHECK.
		case keys.smallest.Valid && keys.smallest.Int64 < 1:
			found.NotPositive(c.Table.TableName, c.Name, keys.smallest.Int64, "the table gets no CHECK")
		default:
			phase.Steps = append(phase.Steps, guardStep(g, c))
		}
	}
	return phase, found
}

// hasGuard reports whether the column already has an equivalent CHECK under any name. SHOW
// CREATE TABLE has it as CHECK ((`id` > 0)) on MySQL and as CHECK (`id` > 0) on MariaDB.
func hasGuard(c *column) bool {
	condition := mycatalog.Quote(c.Name) + " > 0"
	return slices.ContainsFunc(c.Table.Elements, func(e string) bool {
		return strings.Contains(e, "CHECK ("+condition+")") || strings.Contains(e, "CHECK (("+condition+"))")
	})
}

// guardStep returns the step that adds the CHECK to the table of the column. It chooses a
// name that no constraint of the table has. The longest name has 64 characters.
func guardStep(g *graph, c *column) plan.Step {
	t := c.Table
	name := engine.GuardName(t.Name, c.Name, 64, func(name string) bool {
		return !slices.ContainsFunc(t.Elements, func(e string) bool { return strings.HasPrefix(e, "CONSTRAINT "+mycatalog.Quote(name)+" ") })
	})
	step := withCopyCosts(g, t, plan.Step{
		Text: "refuse keys that are not positive",
		Up: []plan.Statement{{
			SQL:    alter(t, "ADD CONSTRAINT "+mycatalog.Quote(name)+" CHECK ("+mycatalog.Quote(c.Name)+" > 0)"),
			Unless: mycatalog.HasAll(t.TableName, mycatalog.CheckKind, name),
		}},
		Down: []plan.Statement{{
			SQL:    alter(t, "DROP CONSTRAINT "+mycatalog.Quote(name)),
			Unless: mycatalog.HasNone(t.TableName, mycatalog.CheckKind, name),
		}},
	})
	step.Locks += "; it also waits for transactions that write the tables it refers to or that refer to it, " +
		"and a program that has written one and continues with the other gets error 1213 and must repeat its transaction"
	return step
}
