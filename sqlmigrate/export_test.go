package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Ran is one call of an engine's Run, which is one transaction.
type Ran struct {
	SQL         []string // the statements that succeeded
	LockTimeout time.Duration
}

// A FakeEngine is an engine without a database. It records the statements that its method
// Run receives, and fails at one of them if FailAt is set.
type FakeEngine struct {
	FailAt int   // the number of the statement of each run that fails, from 1 on; 0 means none, and a number above the last one means the commit
	Err    error // the error of that statement
	Runs   []Ran
	plan   *Plan
}

func (*FakeEngine) Inspect(context.Context, *sql.Conn, engine.Request) (*engine.Result, error) {
	return nil, errors.New("not inspected")
}

func (*FakeEngine) Try(context.Context, *sql.Conn, engine.Trial) (engine.Findings, error) {
	return engine.Findings{}, nil
}

// Run records the statements instead of executing them, and fails at statement FailAt.
func (f *FakeEngine) Run(_ context.Context, _ *sql.Conn, statements []plan.Statement, s engine.Settings, done func(plan.Statement)) error {
	f.Runs = append(f.Runs, Ran{LockTimeout: s.LockTimeout})
	ran := &f.Runs[len(f.Runs)-1]
	for i, statement := range statements {
		if i+1 == f.FailAt {
			return f.Err
		}
		ran.SQL = append(ran.SQL, statement.SQL)
		done(statement)
	}
	if f.FailAt > len(statements) {
		return f.Err
	}
	return nil
}

// Script returns the format and the statements, without the syntax of the format.
func (*FakeEngine) Script(statements []plan.Statement, format engine.Format) string {
	text := "-- " + string(format) + "\n"
	for _, s := range statements {
		text += s.SQL + ";\n"
	}
	return text
}

// Transactions and LockTimeout return the results of the real engine for the plan's
// database. A test can therefore choose by [Plan.Dialect] whether package run takes the
// phases for transactions, and which errors it retries.
func (f *FakeEngine) Transactions() bool { return engines[f.plan.Dialect].Transactions() }

func (f *FakeEngine) LockTimeout(err error) bool { return engines[f.plan.Dialect].LockTimeout(err) }

func (*FakeEngine) Quote(t plan.TableName) string { return t.String() }

func (*FakeEngine) Absent(error) bool { return false }

func (*FakeEngine) Survey(context.Context, *sql.Conn, []string) (*engine.Survey, error) {
	return nil, errors.New("not surveyed")
}

func (*FakeEngine) Sample(context.Context, *sql.Conn, plan.TableName, []engine.NarrowColumn) ([][]sql.NullString, error) {
	return nil, errors.New("not sampled")
}

// SetEngine makes p use f.
func SetEngine(p *Plan, f *FakeEngine) { p.engine, f.plan = f, p }

// ModelReferences returns the references that Inspect finds in models, for example
// "toys.owner_id -> people.id".
func ModelReferences(db *gorm.DB, targets ...any) ([]string, error) {
	c, err := configure(db, targets, nil)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, r := range sorted(slices.Clone(c.fromModels)) {
		found = append(found, r.Table.String()+"."+r.Column+" -> "+r.ToTable.String()+"."+r.ToColumn)
	}
	return found, nil
}
