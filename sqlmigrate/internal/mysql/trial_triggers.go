package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/internal/rows"
)

// A temporary table has no triggers, and one of another table may write anywhere, so
// none is fired: its text shows whether it assigns the key.

// insertTriggersSQL asks for the triggers that can change a row that is inserted.
const insertTriggersSQL = "SELECT IF(TRIGGER_SCHEMA = DATABASE(), '', TRIGGER_SCHEMA), EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS " +
	"WHERE TRIGGER_SCHEMA IN (%s) AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION = 'INSERT' ORDER BY 1, 2, 3"

// findTriggers finds those that assign a key which the database does not assign anyway.
func (r *trial) findTriggers(ctx context.Context) {
	if r.err != nil {
		return
	}
	schemas := mycatalog.Join(r.tables, ", ", func(c *copied) string { return mycatalog.SchemaOf(c.TableName) })
	triggers, err := rows.Read[struct {
		Table      engine.TableName
		Name, Body string
	}](ctx, r.conn, fmt.Sprintf(insertTriggersSQL, schemas))
	r.err = err
	for _, trigger := range triggers {
		if slices.ContainsFunc(r.tables, func(c *copied) bool { return c.TableName == trigger.Table && r.assigns(c, trigger.Body) }) {
			r.Assigns(trigger.Table.String(), trigger.Name)
			r.Omitted[len(r.Omitted)-1].Fix += r.dropAndRestore(ctx, "TRIGGER", engine.TableName{Schema: trigger.Table.Schema, Name: trigger.Name})
		}
	}
}

func (r *trial) assigns(c *copied, trigger string) bool {
	return slices.ContainsFunc(c.keys, func(k *keyColumn) bool {
		return k.own && !r.moved(k).Auto() && assigns(trigger, strings.ToLower(k.Name))
	})
}

// dropAndRestore are the statements that drop an object and restore it.
func (r *trial) dropAndRestore(ctx context.Context, kind string, name engine.TableName) string {
	object := kind + " " + mycatalog.QuoteTable(name)
	names, shown, err := rows.Texts(ctx, r.conn, "SHOW CREATE "+object)
	if err != nil || len(shown) == 0 {
		return ": DROP " + object
	}
	text := slices.IndexFunc(names, func(name string) bool { return name == "Create View" || name == "SQL Original Statement" })
	return ": DROP " + object + "; it was made by: " + shown[0][text].String
}

// assigns reports whether the body of a trigger changes a column of the new row, which
// only a SET can.
func assigns(body, column string) bool {
	tokens := tokensOf(body)
	for i := 1; i+3 < len(tokens); i++ {
		follows := tokens[i+3] == ":=" || tokens[i+3] == "=" && (tokens[i-1] == "set" || tokens[i-1] == ",")
		if follows && slices.Equal(tokens[i:i+3], []string{"new", ".", column}) {
			return true
		}
	}
	return false
}
