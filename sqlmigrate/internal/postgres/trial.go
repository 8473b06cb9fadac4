package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// beginTrial fails on a standby. A lock that is not free at once, or a key that makes
// an expression endless, is only a table that is not tried.
const beginTrial = `SET TRANSACTION READ WRITE;
SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5s'; SET LOCAL jit = off; SET LOCAL client_min_messages = error`

// screenedAtOnce are the tables of one query.
const screenedAtOnce = 25

// Try implements [engine.Engine]. Rows that no table has are enough for most tables.
// Where they are not, there are copies: temporary tables, which have the names of the
// tables, and each is rolled back before the next one is created.
func (Engine) Try(ctx context.Context, conn *sql.Conn, t engine.Trial) (found engine.Findings, err error) {
	if len(t.Tables) == 0 {
		return found, nil
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return found, fmt.Errorf("%s: %w", inspecting, err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, beginTrial); err != nil {
		found.NotTried("", err)
		return found, ctx.Err()
	}
	r := &trial{Trial: t, ctx: ctx, tx: tx}
	copies := r.readCopies()
	if len(copies) == 0 {
		return r.Findings, r.err
	}
	for some := range slices.Chunk(keepIf(copies, (*copied).tried), screenedAtOnce) {
		for _, c := range r.suspects(some) {
			r.examine(c)
		}
	}
	r.tryTriggers(copies)
	r.tryViews(copies)
	if err := cmp.Or(ctx.Err(), r.err); err != nil {
		return found, fmt.Errorf("%s: try keys: %w", inspecting, err)
	}
	return r.Findings, nil
}

// A trial is one transaction, and does nothing any more after an error.
type trial struct {
	engine.Trial
	engine.Findings
	ctx     context.Context
	tx      *sql.Tx
	err     error
	untried []string // triggers
}

// A row has keys, by their columns. The others are NULL.
type row map[string]types.ID

// rowOf has the same key in several columns.
func rowOf(columns []plan.Column, key types.ID) row {
	r := row{}
	for _, c := range columns {
		r[c.Name] = key
	}
	return r
}

// attempt carries statements out and takes them back. It returns why the server does not.
func (r *trial) attempt(statements ...string) error {
	_, refused := ask[struct{}](r, strings.Join(statements, ";\n"), "")
	return refused
}

// ask is an attempt that ends with a query, or without one. What cannot be parsed ends
// before a savepoint that is sent with it.
func ask[T any](r *trial, statements, query string) (found []T, refused error) {
	r.exec("SAVEPOINT attempt")
	if r.err != nil {
		return nil, r.err
	}
	_, refused = r.tx.ExecContext(r.ctx, statements)
	if refused == nil && query != "" {
		found, refused = rows.Read[T](r.ctx, r.tx, query)
	}
	r.exec("ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt")
	return found, refused
}

func (r *trial) exec(statement string) {
	if r.err == nil {
		_, r.err = r.tx.ExecContext(r.ctx, statement)
	}
}

// read returns the rows of a query that has parameters.
func read[T any](r *trial, query string, args ...any) []T {
	if r.err != nil {
		return nil
	}
	found, err := rows.Read[T](r.ctx, r.tx, query, args...)
	r.err = err
	return found
}

// asJSON is for parameters that are lists.
func asJSON(list any) string {
	text, _ := json.Marshal(list) // strings and numbers can always be written
	return string(text)
}

// suspects are the tables for which it takes a copy to know that both keys are accepted.
func (r *trial) suspects(copies []*copied) []*copied {
	screens := make([]string, len(copies))
	for i, c := range copies {
		screens[i] = fmt.Sprintf("SELECT %d, %s", i, c.screen(r.Trial))
	}
	type verdict struct {
		Index  int
		Passed bool
	}
	verdicts, err := ask[verdict](r, "", strings.Join(screens, "\nUNION ALL "))
	switch {
	case err == nil:
		for _, v := range verdicts {
			copies[v.Index].passed = v.Passed
		}
	case len(copies) > 1:
		var found []*copied
		for i := range copies {
			found = append(found, r.suspects(copies[i:i+1])...)
		}
		return found
	}
	return keepIf(copies, func(c *copied) bool { return !c.passed })
}

// examine tries a table's columns themselves, and then each part of its definition.
func (r *trial) examine(c *copied) {
	both := []row{rowOf(c.keys, r.Today), rowOf(c.keys, r.Last)}
	if r.attempt(c.fill(r.Moved, both, c.Parts)...) == nil {
		return
	}
	if err := r.attempt(c.create(r.Moved)); err != nil {
		r.NotTried(c.Display, err)
		return
	}
	for _, p := range append([]part{{}}, c.Parts...) {
		if r.examinePart(c, p) && p.Generates {
			return // the other parts need the column
		}
	}
}

// examinePart reports whether a key of today is refused, or any key. The layout's last
// one is only tried after that: that before it, since a key may have to be below another.
func (r *trial) examinePart(c *copied, p part) (blocked bool) {
	refusals := r.refusals(c, p, r.Today)
	reject, key, blocked := r.Reject, r.Today, len(refusals) > 0
	if !blocked {
		reject, key, refusals = r.RejectLast, r.Last, r.refusals(c, p, r.Last-1)
	}
	for _, x := range refusals {
		if p.Object != "" {
			x.err = fmt.Errorf("%s: %w", p.Object, x.err)
		}
		switch {
		case x.column != "" && ofServer(x.err):
			reject(c.Display, x.column, key, x.err)
		case blocked && p.Confined:
			r.untried = append(r.untried, strings.TrimPrefix(p.Object, "trigger ")+" on "+c.Display)
		case blocked:
			r.NotTried(c.Display, x.err)
		}
	}
	return blocked
}

// A refusal is of a key in a column, or of any row whatever its keys.
type refusal struct {
	column string
	err    error
}

// refusals of a part, which has its own name, are not listed for each column.
func (r *trial) refusals(c *copied, p part, key types.ID) (found []refusal) {
	enter := func(keys row, moved bool) error { return r.attempt(c.fill(moved, []row{keys}, c.with(p))...) }
	if enter(rowOf(c.keys, key), r.Moved) == nil {
		return nil
	}
	var untried error
	for _, column := range c.keys {
		refused, err := r.refusedIn(c, column.Name, key, enter)
		switch {
		case !refused:
			untried = cmp.Or(untried, err)
		case p.Object == "" || len(found) == 0:
			found = append(found, refusal{column.Name, err})
		}
	}
	if len(found) == 0 && untried != nil {
		found = append(found, refusal{"", untried})
	}
	return found
}

// refusedIn tries a column with several values in the others. It is refused if the
// same row enters the table as it is with a small key, and none does with the key.
func (r *trial) refusedIn(c *copied, column string, key types.ID, enter func(keys row, moved bool) error) (refused bool, err error) {
	with := func(others row, key types.ID, moved bool) error {
		others[column] = key
		return enter(others, moved)
	}
	for _, small := range c.small(r.Small) {
		for _, others := range c.others(column, small, r.Last) {
			failure := with(others, key, r.Moved)
			if failure == nil {
				return false, nil
			}
			if !refused && with(others, small, false) == nil {
				refused, err = true, failure
			}
			err = cmp.Or(err, failure)
		}
	}
	return refused, err
}

// ofServer reports whether the server has refused something: not if it was not
// asked, or was kept from an answer by a timeout, a lock or its end.
func ofServer(err error) bool {
	state := pgsql.State(err)
	return state != "" && !slices.Contains([]string{"08", "25", "40", "53", "55", "57", "58"}, state[:2])
}
