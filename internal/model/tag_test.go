package model_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

type hidden struct {
	ID types.ID `snowflake:"pk"`
}

// likeNull has the same fields as a type of database/sql, but is another type.
type likeNull struct {
	V     int64
	Valid bool
}

func (n *likeNull) Scan(any) error              { return errors.ErrUnsupported }
func (n likeNull) Value() (driver.Value, error) { return n.V, nil }

// TestTagMistakes checks that a create with a wrong tag returns all mistakes of the
// model, and does not call the generator. The models have no name, so it is empty in the
// errors.
func TestTagMistakes(t *testing.T) {
	t.Parallel()
	type ok = types.ID // the valid type, in models whose mistake is elsewhere
	for _, test := range []struct {
		name  string
		model any
		want  []string // the whole error, line by line
	}{
		{"empty", &struct {
			ID ok `snowflake:""`
		}{}, []string{`field ID, tag snowflake:"": unknown word "": want pk for a primary key, id for any other column, serial=CODE for a serial number`}},
		{"word", &struct {
			ID ok `snowflake:"key"`
		}{}, []string{`field ID, tag snowflake:"key": unknown word "key": want pk for a primary key, id for any other column, serial=CODE for a serial number`}},
		{"option", &struct {
			ID ok `snowflake:"pk,fast"`
		}{}, []string{`field ID, tag snowflake:"pk,fast": unknown word "fast": want gen=name`}},
		{"no name", &struct {
			ID ok `snowflake:"pk,gen="`
		}{}, []string{`field ID, tag snowflake:"pk,gen=": gen= names no generator: want gen=name`}},
		{"two names", &struct {
			ID ok `snowflake:"pk,gen=a,gen=b"`
		}{}, []string{`field ID, tag snowflake:"pk,gen=a,gen=b": gen= is given twice`}},
		{"unknown generator", &struct {
			ID ok `snowflake:"pk,gen=nobody"`
		}{}, []string{`field ID, tag snowflake:"pk,gen=nobody": generator "nobody" is unknown: add gormflake.WithGenerator("nobody", …) to gormflake.New`}},
		{"int32", &struct {
			ID int32 `snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": type int32 has 32 bits, an ID needs 64: use types.ID or int64`}},
		{"uint32", &struct {
			ID *uint32 `snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": type uint32 has 32 bits, an ID needs 64: use types.ID or int64`}},
		{"uint8", &struct {
			ID uint8 `snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": type uint8 has 8 bits, an ID needs 64: use types.ID or int64`}},
		{"uint16", &struct {
			ID uint16 `snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": type uint16 has 16 bits, an ID needs 64: use types.ID or int64`}},
		{"float", &struct {
			ID float64 `snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": type float64 cannot hold an ID: use types.ID, int64, uint64 or string`}},
		{"not of database/sql", &struct {
			ID   ok
			Like likeNull `snowflake:"id"`
		}{}, []string{`field Like, tag snowflake:"id": type model_test.likeNull cannot hold an ID: use types.ID, int64, uint64 or string`}},
		{"pointer to pointer", &struct {
			ID **int64 `snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": type *int64 cannot hold an ID: use types.ID, int64, uint64 or string`}},
		{"not primary", &struct {
			ID    ok
			Other ok `snowflake:"pk"`
		}{}, []string{`field Other, tag snowflake:"pk": the field is not a primary key: add gorm:"primaryKey" or tag it snowflake:"id"`}},
		{"primary", &struct {
			ID ok `snowflake:"id"`
		}{}, []string{`field ID, tag snowflake:"id": the field is a primary key: tag it snowflake:"pk"`}},
		{"no column", &struct {
			ID    ok
			Other ok `gorm:"-" snowflake:"id"`
		}{}, []string{`field Other, tag snowflake:"id": the field has no column: remove gorm:"-" or this tag`}},
		{"read-only", &struct {
			ID ok `gorm:"->" snowflake:"pk"`
		}{}, []string{`field ID, tag snowflake:"pk": GORM may not write the column on create: remove gorm:"->" or allow it by gorm:"<-:create"`}},
		{"update only", &struct {
			ID    ok
			Other ok `gorm:"<-:update" snowflake:"id"`
		}{}, []string{`field Other, tag snowflake:"id": GORM may not write the column on create: remove gorm:"->" or allow it by gorm:"<-:create"`}},
		{"serializer", &struct {
			ID    ok
			Other ok `gorm:"serializer:json" snowflake:"id"`
		}{}, []string{`field Other, tag snowflake:"id": the field has a serializer, which would store the value in its own form: remove the serializer`}},
		{"shadowed", &struct {
			plugintest.Inner
			ID string
		}{}, []string{`field Inner.ID, tag snowflake:"pk": column id belongs to field ID, which shadows this one: tag that field, or give one of them another column`}},
		{"unexported", &struct {
			ID ok `snowflake:"pk"`
			id ok `snowflake:"id"`
		}{}, []string{`field id, tag snowflake:"id": GORM has no column for it: tag an exported field that is a column`}},
		{"unexported, embedded by a tag", &struct {
			ID   ok `snowflake:"pk"`
			Part struct {
				Name string
				id   ok `snowflake:"id"`
			} `gorm:"embedded"`
		}{}, []string{`field Part.id, tag snowflake:"id": GORM has no column for it: tag an exported field that is a column`}},
		{"unexported struct", &struct {
			hidden
			Name string `gorm:"primaryKey"`
		}{}, []string{`field hidden.ID, tag snowflake:"pk": GORM has no column for it: tag an exported field that is a column`}},
		{"embedded struct", &struct {
			plugintest.Inner `snowflake:"pk"`
		}{}, []string{`field Inner, tag snowflake:"pk": GORM has no column for it: tag an exported field that is a column`}},
		{"relation", &struct {
			ID     ok `snowflake:"pk"`
			BookID ok
			Book   *plugintest.Book `snowflake:"id"`
		}{}, []string{`field Book, tag snowflake:"id": type plugintest.Book cannot hold an ID: use types.ID, int64, uint64 or string`}},
		{"several", &struct {
			ID    int32 `snowflake:"pk"`
			Other ok    `snowflake:"xx"`
		}{}, []string{
			`field ID, tag snowflake:"pk": type int32 has 32 bits, an ID needs 64: use types.ID or int64`,
			`field Other, tag snowflake:"xx": unknown word "xx": want pk for a primary key, id for any other column, serial=CODE for a serial number`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gen := &plugintest.Counter{}
			err := plugintest.Dry(t, gormflake.New(gen)).Table("rows").Create(test.model).Error
			if want := "gormflake: model , " + strings.Join(test.want, "\ngormflake: model , "); err == nil || err.Error() != want {
				t.Errorf("err = %v\nwant  %s", err, want)
			}
			if gen.Calls != 0 {
				t.Error("the generator was asked")
			}
		})
	}
}

// TestTagMistakeNamesModel checks that the error names the model, whose name is empty in
// TestTagMistakes.
func TestTagMistakeNamesModel(t *testing.T) {
	t.Parallel()
	type wrong struct {
		ID types.ID `snowflake:"key"`
	}
	err := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Create(&wrong{}).Error
	if want := `gormflake: model wrong, field ID, tag`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s…", err, want)
	}
}

// TestTagOverridesEmbeddedTag checks that a tagged field gets the key if it shadows a
// tagged field of an embedded struct.
func TestTagOverridesEmbeddedTag(t *testing.T) {
	t.Parallel()
	type override struct {
		gormflake.Model
		ID int64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	}
	row := override{}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Create(&row))
	if row.ID == 0 || row.Model.ID != 0 {
		t.Errorf("row = %+v", row)
	}
}

// TestIntIs64Bits checks that keys of type int and uint are accepted exactly on machines
// where they have 64 bits.
func TestIntIs64Bits(t *testing.T) {
	t.Parallel()
	type intKey struct {
		ID    int  `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
		Other uint `snowflake:"id"`
	}
	row := intKey{}
	err := plugintest.Dry(t, gormflake.New(&plugintest.Counter{})).Create(&row).Error
	if bits.UintSize == 64 && (err != nil || row.ID == 0 || row.Other == 0) {
		t.Errorf("row = %+v, err = %v", row, err)
	}
	if bits.UintSize == 32 && err == nil {
		t.Error("an int of 32 bits was accepted")
	}
}

// TestGenerators checks that each column gets IDs from the generator that its tag names,
// in one call for all rows, and that an error names the generator.
func TestGenerators(t *testing.T) {
	t.Parallel()
	type row struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk,gen=orders"`
		Public types.ID `snowflake:"id"`
		Ticket types.ID `snowflake:"id"`
	}
	standard, orders := &plugintest.Counter{}, &plugintest.Counter{Last: 5000}
	db := plugintest.Dry(t, gormflake.New(standard, gormflake.WithGenerator("orders", orders)))
	rows := make([]row, 2)
	plugintest.Must(t, db.Create(&rows))
	want := []row{{5001, 1001, 1002}, {5002, 1003, 1004}}
	if !reflect.DeepEqual(rows, want) || standard.Calls != 1 || orders.Calls != 1 {
		t.Errorf("rows = %v, want %v; %d and %d calls", rows, want, standard.Calls, orders.Calls)
	}
	orders.Err = errors.New("boom")
	err := db.Create(&row{}).Error
	if want := `gormflake: model row: generator "orders": boom`; err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// TestOptionMistakes checks that Use returns all mistakes in the options of New.
func TestOptionMistakes(t *testing.T) {
	t.Parallel()
	db, err := gorm.Open(nil, &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	gen := &plugintest.Counter{}
	err = db.Use(gormflake.New(nil,
		gormflake.WithGenerator("", gen),
		gormflake.WithGenerator("a,b", gen),
		gormflake.WithGenerator("c", nil),
		gormflake.WithGenerator("d", gen),
		gormflake.WithGenerator("d", gen),
	))
	want := `gormflake: New: generator is nil: want one, for example from snowflake.New
gormflake: WithGenerator: name is empty: want the name used in gen=name
gormflake: WithGenerator("a,b"): name contains a comma, which no tag can hold
gormflake: WithGenerator("c"): generator is nil: want one, for example from snowflake.New
gormflake: WithGenerator("d"): name is given twice`
	if err == nil || err.Error() != want {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
}

// TestNilGenerators checks that a nil pointer in an interface also counts as a nil
// generator.
func TestNilGenerators(t *testing.T) {
	t.Parallel()
	var gen *snowflake.Generator
	var fn fillFunc
	err := plugintest.Dummy(t, &gorm.Config{}).Use(gormflake.New(gen, gormflake.WithGenerator("a", gen), gormflake.WithGenerator("b", fn)))
	want := `gormflake: New: generator is a nil *snowflake.Generator: want one, for example from snowflake.New
gormflake: WithGenerator("a"): generator is a nil *snowflake.Generator: want one, for example from snowflake.New
gormflake: WithGenerator("b"): generator is a nil model_test.fillFunc: want one, for example from snowflake.New`
	if err == nil || err.Error() != want {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
	// A generator that is not a pointer is valid.
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(fillNothing{})).Create(&plugintest.Book{ID: 5}))
}

// fillFunc is a generator that is a function, and so may be nil.
type fillFunc func(ctx context.Context, dst []types.ID) error

func (f fillFunc) Fill(ctx context.Context, dst []types.ID) error { return f(ctx, dst) }

// fillNothing is a generator that is not a pointer.
type fillNothing struct{}

func (fillNothing) Fill(context.Context, []types.ID) error { return nil }

// FuzzTag checks that a tag of a primary key is accepted exactly if it is pk, alone or with
// a known generator.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{"pk", "id", "", "pk,gen=orders", "pk,gen=", "pk,", "id,gen=orders,gen=orders", "PK", " pk"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tag := reflect.StructTag(`gorm:"primaryKey" snowflake:` + strconv.Quote(text))
		if got, ok := tag.Lookup("snowflake"); !ok || got != text {
			t.Skip("the text does not survive in a struct tag")
		}
		model := reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "ID", Type: reflect.TypeFor[types.ID](), Tag: tag},
		})).Interface()
		plugin := gormflake.New(&plugintest.Counter{}, gormflake.WithGenerator("orders", &plugintest.Counter{}))
		db := plugintest.Dry(t, plugin)
		err := db.Table("rows").Create(model).Error
		if want := text == "pk" || text == "pk,gen=orders"; (err == nil) != want {
			t.Errorf("tag %q: err = %v, want accepted = %t", text, err, want)
		}
	})
}
