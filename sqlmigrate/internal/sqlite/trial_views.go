package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
	"github.com/gormflake/gormflake/types"
)

// Views implements [engine.Copies]. It inserts a row with the key into each copy, reads
// each view over the copies, and returns how many rows a view shows, or its error. It
// ignores the last parameter (asIs), because a move in SQLite changes no type. At a second
// call it creates the copies again, to remove the rows of the first call. It does not use a
// transaction, because that would keep the locks that reading the original tables takes.
func (r *trial) Views(ctx context.Context, key types.ID, _ bool) (views []engine.Shown, err error) {
	if r.filled && (r.try(ctx, closeCopies) != nil || r.open(ctx) != nil) {
		return nil, errors.New("sqlmigrate: the copies for the trial cannot be created again")
	}
	r.filled = true
	if !slices.ContainsFunc(r.objects, object.isView) {
		return nil, nil
	}
	for _, t := range r.Trial.Tables {
		if r.try(ctx, r.insertSQL(t, engine.Row{Keys: engine.Same(t, key)})) != nil { // a CHECK may require that keys differ
			_ = r.try(ctx, r.insertSQL(t, engine.Row{Keys: engine.Near(t, key)}))
		}
	}
	for _, o := range r.objects {
		if !o.isView() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, trialTimeout)
		_, texts, err := rows.Texts(limited, r.conn, fmt.Sprintf("SELECT * FROM %s.%s LIMIT %d", copySchema, quote(o.Name), mostRead))
		cancel()
		view := engine.Shown{Table: r.tableOf(o), View: plan.TableName{Name: o.Name}, Rows: int64(len(texts)), Err: r.refusal(err)}
		if view.Err != nil { // it may have failed after some rows
			view.Rows = 0
		}
		views = append(views, view)
	}
	return views, r.err
}

// tableOf returns the first table of the trial that the view mentions, or the zero value.
func (r *trial) tableOf(view object) plan.TableName {
	for _, token := range tokens(view.Text) {
		for _, t := range r.Trial.Tables {
			if fold(token.Text) == fold(t.Name) {
				return t.TableName()
			}
		}
	}
	return plan.TableName{}
}
