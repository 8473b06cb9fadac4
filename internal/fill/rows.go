package fill

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
	"github.com/gormflake/gormflake/types"
)

// observe shows the keys that are set to a generator for tests.
func observe(rows rowview.Rows, g *model.Group) {
	for i := 0; g.Observes() && i < rows.N; i++ {
		if row := rows.At(i); row.IsValid() {
			g.Observe(row)
		}
	}
}

// needs returns how many IDs the rows need, and whether they lack anything.
func needs(rows rowview.Rows, g *model.Group) (ids int, lack bool) {
	if rows.Plain && g.Plain != nil {
		ids = g.Plain.Lack(rows.Value)
		return ids, ids > 0
	}
	for i := range rows.N {
		if row := rows.At(i); row.IsValid() {
			n, lacks := g.Needs(row)
			ids += n
			lack = lack || lacks
		}
	}
	return ids, lack
}

// set fills the keys, and the serial numbers made from them. It returns false if the
// rows need more IDs than needs returned.
func set(rows rowview.Rows, g *model.Group, ids []types.ID) bool {
	if rows.Plain && g.Plain != nil {
		return setPlain(rows, g.Plain, ids)
	}
	return !rows.Contain(func(row reflect.Value) (stop bool) {
		rest, ok := g.Fill(row, ids)
		ids = rest
		return !ok
	})
}

func setPlain(rows rowview.Rows, keys *rowview.PlainKeys, ids []types.ID) bool {
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

// Related returns the first of the rows for which GORM saves rows of a relation too,
// -1 if there is none.
func Related(stmt *gorm.Statement, rows rowview.Rows, rel *schema.Relationship) int {
	named, restricted := stmt.SelectAndOmitColumns(true, false)
	if saved, ok := named[rel.Name]; !saved && (ok || restricted) {
		return -1
	}
	related := model.NewColumn(rel.Field)
	return rows.Index(func(row reflect.Value) bool {
		v, ok := related.Find(row)
		return ok && !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
	})
}

// selectKeys adds the tagged columns to a statement that selects others. GORM
// would otherwise write the row without its key, and the database would choose
// another or none. A column that the statement omits stays out.
func selectKeys(stmt *gorm.Statement, columns []*model.Column) model.Selection {
	if len(stmt.Selects)+len(stmt.Omits) == 0 {
		return nil
	}
	named, restricted := stmt.SelectAndOmitColumns(true, false)
	if !restricted {
		return named
	}
	// The backing array is shared with every statement derived from the same session.
	selects := slices.Clip(stmt.Selects)
	for _, c := range columns {
		if _, ok := named[c.Field.DBName]; !ok {
			selects = append(selects, c.Field.DBName)
		}
	}
	stmt.Selects = selects
	return named
}

// checkOmitted rejects a statement that omits a tagged column whose value the struct
// has, because the row would get another value or none. A primary key must not be
// omitted at all: SQLite would choose a number that a generator may issue later, and
// MySQL stores 0 under an empty sql_mode. A key that the model leaves to the database
// is no mistake, because GORM reads it back.
func checkOmitted(stmt *gorm.Statement, m *model.Model, selected model.Selection) error {
	if selected == nil {
		return nil
	}
	for _, c := range m.Columns {
		switch {
		case !selected.Omits(c):
		case readsBack(stmt, c):
			noteOf(stmt).omits = true
		case c.Field.PrimaryKey && !c.Field.HasDefaultValue:
			return fmt.Errorf("the statement omits the key %s, and the row would get another key than the struct, or none: leave it out of Omit, or use Skip if the database assigns it", c.Field.BindName())
		case hasValue(stmt, c):
			return fmt.Errorf("the statement omits %s, which the struct has and the row would not: leave it out of Omit, or set it to 0", c.Field.BindName())
		default:
			noteOf(stmt).omits = true
		}
	}
	return nil
}

// readsBack reports whether GORM reads the value of the column after the INSERT, as it
// does with a default that the database chooses.
func readsBack(stmt *gorm.Statement, c *model.Column) bool {
	return c.Field.HasDefaultValue && !isMaps(stmt) && (returns(stmt) || stmt.ReflectValue.Kind() == reflect.Map)
}

// hasValue reports whether one of the rows has a value in the column.
func hasValue(stmt *gorm.Statement, c *model.Column) bool {
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		return slices.ContainsFunc(maps, func(values map[string]any) bool {
			return !isUnset(values[nameIn(values, c.Field)])
		})
	}
	rows, err := rowview.Of(stmt)
	return err == nil && rows.Contain(func(row reflect.Value) bool { return !c.Unset(row) })
}
