package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/internal/sqliteguard"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqltext"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// guardedSQL returns whether the copies have a trigger with the name.
const guardedSQL = `SELECT EXISTS (SELECT 1 FROM ` + copySchema + `.sqlite_master WHERE type = 'trigger' AND name = ? COLLATE NOCASE)`

// Assigning implements [engine.Copies]. It inserts a row without a key into each table
// that has a guard. If the row is accepted, a trigger has assigned the key. Without a
// guard, SQLite would assign it.
func (r *trial) Assigning(ctx context.Context) (found []engine.Assigning, err error) {
	for i, t := range r.Trial.Tables {
		triggers := r.triggers[fold(t.Name)]
		if len(triggers) == 0 || !readOne[bool](ctx, &r.reader, guardedSQL, sqliteguard.Name(t.Name)) {
			continue
		}
		keys := map[string]types.ID{}
		for _, c := range t.Columns {
			if c.Key {
				keys[c.Name] = 0
			}
		}
		if r.enter(ctx, engine.Row{Table: i, Keys: keys}) == nil {
			found = append(found, engine.Assigning{Table: t.TableName(), Trigger: strings.Join(triggers, " or ")})
		}
	}
	return found, r.err
}

// isOfTrigger reports whether b repeats a blocker of all. A trigger that inserts a row
// without a key has a blocker of its own. The guard rejects its row too, so the table that
// fires the trigger has b.
func (r *trial) isOfTrigger(b plan.Blocker, all []plan.Blocker) bool {
	for _, t := range r.Trial.Tables {
		for _, c := range t.Columns {
			ofTrigger := func(other plan.Blocker) bool {
				return other.Table == t.TableName() && strings.HasPrefix(other.Object, "trigger ") && strings.HasSuffix(other.Object, " on "+b.Table.Name)
			}
			if c.Key && strings.Contains(b.Reason, sqliteguard.Message(t.Name, c.Name)) && slices.ContainsFunc(all, ofTrigger) {
				return true
			}
		}
	}
	return false
}

// Codes implements [engine.Copies]. Only triggers can insert rows in SQLite, and a write
// fires them. Codes returns only inserts into tables with a guard, because an INSERT
// without a key fails only there.
func (r *trial) Codes(ctx context.Context) (codes []engine.Code, err error) {
	for _, o := range r.triggerObjects {
		code := engine.Code{Object: "trigger " + o.Name + " on " + o.Table, Fires: true}
		for _, in := range sqltext.Inserts(o.Text, sqltext.Rules{Brackets: true, Backticks: true}) {
			if readOne[bool](ctx, &r.reader, guardedSQL, sqliteguard.Name(in.Table)) {
				code.Inserts = append(code.Inserts, in)
			}
		}
		codes = append(codes, code)
	}
	return codes, r.err
}
