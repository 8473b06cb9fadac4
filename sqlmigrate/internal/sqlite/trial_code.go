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

// guardedSQL is true if the copies have a trigger with the name, which is that of a guard.
const guardedSQL = `SELECT EXISTS (SELECT 1 FROM ` + copySchema + `.sqlite_master WHERE type = 'trigger' AND name = ? COLLATE NOCASE)`

// Assigning implements [engine.Copies]. It returns the triggers that assign keys. To find
// them, it inserts a row without a key into the copy of each table that has triggers for
// INSERT and a guard. The guard rejects a row without a key, so if the row is accepted, a
// trigger has assigned the key. A table without a guard cannot be tried, because SQLite
// assigns the key there.
func (r *trial) Assigning(ctx context.Context) (found []engine.Assigning, err error) {
	for i, t := range r.Trial.Tables {
		triggers := r.triggers[fold(t.Name)]
		if len(triggers) == 0 || !readOne[bool](ctx, &r.reader, guardedSQL, sqliteguard.Name(t.Name)) {
			continue
		}
		keys := map[string]types.ID{}
		for _, c := range t.Columns {
			if c.Key {
				keys[c.Name] = 0 // NULL
			}
		}
		if r.enter(ctx, engine.Row{Table: i, Keys: keys}) == nil {
			found = append(found, engine.Assigning{Table: t.TableName(), Trigger: strings.Join(triggers, " or ")})
		}
	}
	return found, r.err
}

// isOfTrigger reports whether b repeats another blocker in all. For example, a trigger on
// orders inserts a row without a key into logs. Codes finds the trigger, for which all has
// a blocker of table logs. The trial of orders fires the trigger too, and fails with the
// message of the guard of logs, so that b says that orders rejects the key. Only the
// blocker of the trigger is useful to users.
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

// Codes implements [engine.Copies]. It returns the triggers with the INSERT statements in
// their bodies, because SQLite has no other stored code. Code.Fires is true, because a
// write fires a trigger. Codes returns only the INSERTs into tables with a guard, because
// an INSERT without a key fails only there.
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
