package fill

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/types"
)

// Rows are the structs that a statement creates.
type Rows struct {
	Value reflect.Value
	Many  bool // Value is a list
	N     int
	plain bool // a list of structs, not of pointers, that can be set
}

// rowsOf rejects structs whose layout differs from the model's, because GORM
// reads and writes fields by their positions. It leaves what is neither a struct
// nor a list to GORM, which rejects it.
func rowsOf(stmt *gorm.Statement) (Rows, error) {
	r := Rows{Value: stmt.ReflectValue, N: 1}
	t := r.Value.Type()
	switch t.Kind() {
	case reflect.Struct:
	case reflect.Slice, reflect.Array:
		r.Many, r.N = true, r.Value.Len()
		t = t.Elem()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		} else {
			r.plain = r.Value.Kind() == reflect.Slice || r.Value.CanAddr()
		}
	default:
		return Rows{}, nil
	}
	if want := stmt.Schema.ModelType; !t.ConvertibleTo(want) {
		return Rows{}, fmt.Errorf("got %s: want %s, or a slice of it or of pointers to it: %w", r.Value.Type(), want, gorm.ErrInvalidData)
	}
	return r, nil
}

// At returns row i. It is invalid for a nil element, which GORM rejects.
func (r Rows) At(i int) reflect.Value {
	if !r.Many {
		return r.Value
	}
	return reflect.Indirect(r.Value.Index(i))
}

// contain reports whether there is a row for which is returns true.
func (r Rows) contain(is func(row reflect.Value) bool) bool {
	for i := range r.N {
		if row := r.At(i); row.IsValid() && is(row) {
			return true
		}
	}
	return false
}

// observe shows the keys that are set to a generator for tests.
func (r Rows) observe(g *model.Group) {
	for i := 0; g.Observes() && i < r.N; i++ {
		if row := r.At(i); row.IsValid() {
			g.Observe(row)
		}
	}
}

// needs returns how many IDs the rows need, and whether they lack anything.
func (r Rows) needs(g *model.Group) (ids int, lack bool) {
	if r.plain && g.Plain != nil {
		for key := range g.Plain.In(r.Value) {
			if *key == 0 {
				ids++
			}
		}
		return ids, ids > 0
	}
	for i := range r.N {
		if row := r.At(i); row.IsValid() {
			n, lacks := g.Needs(row)
			ids += n
			lack = lack || lacks
		}
	}
	return ids, lack
}

// set fills the keys, and then the serial numbers made from them. It returns
// false if the rows need more IDs than needs returned.
func (r Rows) set(g *model.Group, ids []types.ID) bool {
	if r.plain && g.Plain != nil {
		return r.setPlain(g.Plain, ids)
	}
	for _, c := range g.Keys {
		if !r.each(&ids, c.Fill) {
			return false
		}
	}
	return len(g.Serials) == 0 || r.each(&ids, g.FillSerials)
}

// each fills every row from ids, until one finds none left.
func (r Rows) each(ids *[]types.ID, fill func(reflect.Value, []types.ID) ([]types.ID, bool)) (ok bool) {
	for i := range r.N {
		if row := r.At(i); row.IsValid() {
			if *ids, ok = fill(row, *ids); !ok {
				return false
			}
		}
	}
	return true
}

func (r Rows) setPlain(keys *model.PlainKeys, ids []types.ID) bool {
	for key := range keys.In(r.Value) {
		if *key != 0 {
			continue
		}
		if len(ids) == 0 {
			return false
		}
		*key, ids = ids[0], ids[1:]
	}
	return true
}
