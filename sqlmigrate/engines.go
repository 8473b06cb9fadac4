package sqlmigrate

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/postgres"
	"github.com/gormflake/gormflake/sqlmigrate/internal/sqlite"
)

// engines has one for each of GORM's dialects.
var engines = map[string]engine.Engine{
	"mysql":    mysql.Engine{},
	"postgres": postgres.Engine{},
	"sqlite":   sqlite.Engine{},
}

func engineOf(dialect string) (engine.Engine, error) {
	e, ok := engines[dialect]
	if !ok {
		return nil, fmt.Errorf("sqlmigrate: dialect %q is not supported: want sqlite, mysql or postgres", dialect)
	}
	return e, nil
}

// planOf copies what an engine has found. Aliases of its types would hide their
// fields in the documentation of this package.
func planOf(dialect string, r *engine.Result) *Plan {
	return &Plan{
		Dialect:  dialect,
		Tables:   converted(r.Tables, tableFrom),
		Blockers: converted(r.Blockers, func(b engine.Blocker) Blocker { return Blocker(b) }),
		Phases:   converted(r.Phases, phaseFrom),
		Notes:    r.Notes,
	}
}

func tableFrom(t engine.Table) Table {
	return Table{
		Schema: t.Schema, Name: t.Name,
		Columns: converted(t.Columns, func(c engine.Column) Column { return Column(c) }),
		Rows:    t.Rows, Bytes: t.Bytes, MaxKey: t.MaxKey,
	}
}

func phaseFrom(p engine.Phase) Phase {
	return Phase{Name: PhaseName(p.Name), Steps: converted(p.Steps, stepFrom), Check: converted(p.Check, statementFrom)}
}

func stepFrom(s engine.Step) Step {
	return Step{
		Table: s.Table, Text: s.Text,
		Up: converted(s.Up, statementFrom), Down: converted(s.Down, statementFrom),
		Check: converted(s.Check, statementFrom), Transaction: s.Transaction,
		Rows: s.Rows, Bytes: s.Bytes, Rewrites: s.Rewrites, Locks: s.Locks, Estimate: s.Estimate,
	}
}

func statementFrom(s engine.Statement) Statement { return Statement(s) }

func converted[From, To any](list []From, convert func(From) To) []To {
	if list == nil {
		return nil
	}
	result := make([]To, len(list))
	for i, from := range list {
		result[i] = convert(from)
	}
	return result
}
