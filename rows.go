package gormflake

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/types"
)

// rows are the structs that a statement creates.
type rows struct {
	value reflect.Value
	many  bool
	n     int
}

// rowsOf leaves values of another type than the model to GORM, which refuses them.
func rowsOf(stmt *gorm.Statement) rows {
	v := stmt.ReflectValue
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == stmt.Schema.ModelType {
			return rows{value: v, n: 1}
		}
	case reflect.Slice, reflect.Array:
		elem := v.Type().Elem()
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if elem == stmt.Schema.ModelType {
			return rows{value: v, many: true, n: v.Len()}
		}
	}
	return rows{}
}

// at returns row i; it is invalid for a nil element, which GORM refuses.
func (r rows) at(i int) reflect.Value {
	if !r.many {
		return r.value
	}
	return reflect.Indirect(r.value.Index(i))
}

// settable is false for copies. Elements that are nil tell nothing.
func (r rows) settable() bool {
	for i := range r.n {
		if row := r.at(i); row.IsValid() {
			return row.CanSet()
		}
	}
	return false
}

// needs returns how many IDs the rows need, and whether they lack anything.
func (r rows) needs(g *group) (ids int, lack bool) {
	for i := range r.n {
		if row := r.at(i); row.IsValid() {
			n, lacks := g.needs(row)
			ids += n
			lack = lack || lacks
		}
	}
	return ids, lack
}

// set fills the keys, and then the serial numbers that are made from them.
func (r rows) set(g *group, ids []types.ID) {
	for _, c := range g.keys {
		for i := range r.n {
			if len(ids) == 0 {
				break
			}
			if row := r.at(i); row.IsValid() && c.fill(row, ids[0]) {
				ids = ids[1:]
			}
		}
	}
	if len(g.serials) == 0 {
		return
	}
	for i := range r.n {
		if row := r.at(i); row.IsValid() {
			ids, _ = g.number(row, ids)
		}
	}
}
