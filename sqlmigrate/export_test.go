package sqlmigrate

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"
)

// Ran is one call of an engine's run.
type Ran struct {
	SQL         []string
	LockTimeout time.Duration
}

// A FakeEngine records what it is asked for instead of doing it.
type FakeEngine struct {
	FailAt int // the statement of a run that fails, counted from 1
	Err    error
	Runs   []Ran
	plan   *Plan
}

func (*FakeEngine) inspect(context.Context, *sql.Conn, request) (*Plan, error) {
	return nil, errors.New("not inspected")
}

func (f *FakeEngine) run(_ context.Context, _ *sql.Conn, statements []Statement, s settings, done func(Statement)) error {
	f.Runs = append(f.Runs, Ran{LockTimeout: s.lockTimeout})
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

func (*FakeEngine) script(statements []Statement, format Format) string {
	text := "-- " + string(format) + "\n"
	for _, s := range statements {
		text += s.SQL + ";\n"
	}
	return text
}

func (*FakeEngine) quote(t tableName) string { return t.String() }

func (*FakeEngine) foldsNames() bool { return false }

func (*FakeEngine) absent(error) bool { return false }

func (*FakeEngine) likelyReferences() likelyQueries { return likelyQueries{} }

// afterFailure is that of the plan's database.
func (f *FakeEngine) afterFailure(changed int, all bool) string {
	return engines[f.plan.Dialect].afterFailure(changed, all)
}

// SetEngine makes p use f.
func SetEngine(p *Plan, f *FakeEngine) { p.engine, f.plan = f, p }

// ModelReferences are those that Inspect would look for.
func ModelReferences(db *gorm.DB, targets ...any) ([]string, error) {
	c, err := configure(db, targets)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, r := range sorted(slices.Clone(c.modelled)) {
		found = append(found, r.table.String()+"."+r.column+" -> "+r.toTable.String()+"."+r.toColumn)
	}
	return found, nil
}

// ParseTable and ParseColumn return the parts of a name.
func ParseTable(s string) ([]string, error) {
	t, err := parseTable(s)
	return []string{t.schema, t.name}, err
}

func ParseColumn(s string) ([]string, error) {
	t, column, err := parseColumn(s)
	return []string{t.schema, t.name, column}, err
}

// File is one to be written.
type File struct{ Name, Text string }

// WriteAll writes all files or none.
func WriteAll(dir string, files []File) error {
	var own []file
	for _, f := range files {
		own = append(own, file{f.Name, f.Text})
	}
	return writeAll(dir, own)
}
