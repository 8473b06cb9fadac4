package fill

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/rowview"
)

// fillDest fills the rows or maps that the statement creates. parentsToCome is true before
// GORM saves the rows' parents. If a row will then get its key from a parent, fillDest leaves
// the serial numbers that are made from the key unset in all rows. It sets them in a second
// call, in which parentsToCome is false.
func fillDest(stmt *gorm.Statement, set *model.Set, m *model.Model, parentsToCome bool) error {
	selected := selectKeys(stmt, m.Columns)
	if err := checkOmitted(stmt, m, selected); err != nil {
		return err
	}
	if maps, ok := rowview.Maps(stmt.Dest); ok {
		return fillMaps(stmt, set, m, maps, selected)
	}
	rows, err := rowview.Of(stmt)
	if err != nil {
		return err
	}
	for _, g := range m.Groups {
		g = g.Selected(selected)
		if parentsToCome && g.KeyIsForeign() && rows.Contain(g.HasParent) {
			g = g.WithoutSerials()
		}
		if err := fillRows(stmt, set, g, rows); err != nil {
			return err
		}
	}
	return nil
}

// fillRows gets the IDs that the rows need for the columns of a group, in one call of the
// generator, and sets these columns. A group contains the columns with the same generator. If
// the generator is for tests, observeKeys first passes it the keys that rows already have.
func fillRows(stmt *gorm.Statement, set *model.Set, g *model.Group, rows rowview.Rows) error {
	observeKeys(rows, g)
	n, lack := needs(rows, g)
	if !lack {
		return nil
	}
	if !rows.Contain(reflect.Value.CanSet) {
		return fmt.Errorf("cannot set the tagged fields of a copy: pass a pointer: %w", gorm.ErrInvalidValue)
	}
	ids, err := set.Generate(stmt.Context, g, n)
	if err != nil {
		return err
	}
	if !setKeys(rows, g, *ids) {
		return errModified
	}
	noteNumbers(stmt, g, rows)
	// If GORM saves the rows for a relation, note that some rows needed an ID and are therefore
	// new. [isKnownParent] reads this note.
	if n > 0 && readNote(stmt).nested {
		noteForWriting(stmt).filled = true
	}
	set.Recycle(ids)
	return nil
}

// fillMaps fills the maps of a create. It copies the keys of each map to a struct, fills the
// structs, and writes the keys that a map lacks into the caller's map, as GORM does with
// keys that the database assigned.
func fillMaps(stmt *gorm.Statement, set *model.Set, m *model.Model, maps []map[string]any, selected model.Selection) error {
	list := reflect.MakeSlice(reflect.SliceOf(stmt.Schema.ModelType), len(maps), len(maps))
	missing := 0 // values of tagged columns that the maps lack
	for i, values := range maps {
		missing += copyTo(list.Index(i), values, m.Columns)
	}
	// Plain is set because the list contains structs, not pointers.
	structs := rowview.Rows{Value: list, Many: true, N: len(maps), Plain: true}
	for _, g := range m.Groups {
		g = g.Selected(selected)
		if _, lacks := needs(structs, g); lacks && slices.ContainsFunc(maps, func(values map[string]any) bool { return values == nil }) {
			return errors.New("the map is nil and cannot hold a key: create it with make first")
		}
		if err := fillRows(stmt, set, g, structs); err != nil {
			return err
		}
	}
	// copyFrom counts the missing values again. If it counts more than copyTo, another
	// goroutine has removed a value in between, or a driver.Valuer returned another value.
	for i, values := range maps {
		missing -= copyFrom(list.Index(i), values, m.Columns)
	}
	if missing < 0 {
		return errors.New("the map was modified concurrently: do not share it until Create returns")
	}
	return nil
}
