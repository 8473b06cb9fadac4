package fill

import (
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// observeKeys passes the keys that rows already have to the generator of the group, if it
// has a method Observe, as the generators of package gormflaketest have.
func observeKeys(rows rowview.Rows, g *model.Group) {
	for i := 0; g.Observes() && i < rows.N; i++ {
		if row := rows.At(i); row.IsValid() {
			g.Observe(row)
		}
	}
}

// needs returns the number of IDs that the rows need for the columns of the group, and
// reports whether a row lacks a key or a serial number. A row may lack only a serial number,
// which is made from its key and needs no ID. needs counts without reflection if the list
// and the key allow that.
func needs(rows rowview.Rows, g *model.Group) (ids int, lack bool) {
	if rows.Plain && g.Plain != nil {
		ids = g.Plain.Lack(rows.Value)
		return ids, ids > 0
	}
	for i := range rows.N {
		if row := rows.At(i); row.IsValid() {
			n, rowLacks := g.Needs(row)
			ids += n
			lack = lack || rowLacks
		}
	}
	return ids, lack
}

// setKeys sets the unset keys and serial numbers of the rows from ids. It returns false if
// the rows need more IDs than [needs] counted, because another goroutine has cleared a key
// since.
func setKeys(rows rowview.Rows, g *model.Group, ids []types.ID) bool {
	if rows.Plain && g.Plain != nil {
		return setPlainKeys(rows, g.Plain, ids)
	}
	return !rows.Contain(func(row reflect.Value) (stop bool) {
		rest, ok := g.Fill(row, ids)
		ids = rest
		return !ok
	})
}

// setPlainKeys sets each key that is 0 to the next of ids, without reflection. It returns
// false if ids are too few.
func setPlainKeys(rows rowview.Rows, keys *rowview.PlainKeys, ids []types.ID) bool {
	for key := range keys.In(rows.Value) {
		if *key != 0 {
			continue
		}
		if len(ids) == 0 {
			return false
		}
		*key, ids = ids[0].Int64(), ids[1:]
	}
	return true
}

var errModified = errors.New("the rows were modified concurrently: do not share them until Create returns")

// Related returns the index of the first row for which GORM also saves rows of the
// relation, or -1. GORM does not save a relation that the statement omits, or that its
// Select does not name.
func Related(stmt *gorm.Statement, rows rowview.Rows, rel *schema.Relationship) int {
	// selected has the columns and relations of Select (true) and Omit (false). restricted
	// is set if the statement has a Select other than "*".
	selected, restricted := stmt.SelectAndOmitColumns(true, false) // for a create, not for an update
	if saved, named := selected[rel.Name]; named && !saved || !named && restricted {
		return -1
	}
	related := model.NewColumn(rel.Field)
	return rows.Index(func(row reflect.Value) bool {
		v, ok := related.Find(row)
		isEmpty := v.Kind() == reflect.Slice && v.Len() == 0
		return ok && !v.IsZero() && !isEmpty
	})
}

// rowError returns an error that names the field, and the index i of the row if the statement
// creates many rows.
func rowError(c *model.Column, i int, many bool, problem string) error {
	field := c.Field.BindName()
	if many {
		field += fmt.Sprintf(", row %d", i)
	}
	return fmt.Errorf("model %s, field %s: %s", c.Field.Schema.Name, field, problem)
}
