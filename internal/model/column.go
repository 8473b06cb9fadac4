package model

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Column is a tagged field of a model, or a field passed to [NewColumn]. Its methods read
// and write the field in a row, which is a value of the model's struct type. To write it,
// the row must be addressable. The column holds an ID, or a serial number, which is a text
// that is made from an ID.
type Column struct {
	Field   *schema.Field
	Kind    Kind
	Primary bool           // tagged pk
	Listed  bool           // key of a model of gormflake.WithModels, which [Adopt] has tagged
	Serial  *serial.Format // nil for a key

	genName   string    // name of the generator, "" for the default generator
	generator Generator // nil for a column of NewColumn
	code      string    // code of the serial numbers
	lastID    types.ID  // the largest ID that a serial number can have
	path      []int     // indexes of the fields that lead to Field; -index-1 for an embedded pointer
}

// NewColumn returns a column for a field that may be untagged. Its Kind is zero, so the
// caller sets Kind before it calls a method that reads or writes an ID, such as Get.
func NewColumn(f *schema.Field) *Column {
	return &Column{Field: f, path: f.StructField.Index}
}

// newColumn returns a column for the field f, whose tag has this text and names one of the
// generators gens. It returns nil if f has no column of its own, because another tagged
// field shadows it, for example the ID of a struct that embeds the struct of f.
func newColumn(s *schema.Schema, f *schema.Field, text string, gens generators) (*Column, error) {
	t, err := parseTag(text)
	if err != nil {
		return nil, err
	}
	if winner := s.FieldsByDBName[f.DBName]; f.DBName != "" && winner != f {
		if IsTagged(winner) {
			return nil, nil
		}
		return nil, fmt.Errorf("column %s belongs to field %s, which shadows this one: tag that field, or give one of them another column", f.DBName, winner.BindName())
	}
	if err := checkWritable(f, t); err != nil {
		return nil, err
	}
	// Adopt adds a tag to the schema's field, but cannot add it to the Go struct.
	c := &Column{Field: f, Primary: t.primary, Listed: f.StructField.Tag.Get(tagKey) == "", genName: t.gen, path: f.StructField.Index}
	kindOf := KindOf
	if t.serial != "" {
		kindOf = SerialKindOf
	}
	if c.Kind, err = kindOf(f.FieldType); err != nil {
		return nil, err
	}
	var known bool
	if c.generator, known = gens[t.gen]; !known {
		return nil, fmt.Errorf("generator %q is unknown: add gormflake.WithGenerator(%[1]q, …) to gormflake.New", t.gen)
	}
	if t.serial == "" {
		return c, nil
	}
	return c, c.setSerial(t.serial)
}

// checkWritable returns an error if GORM does not write the column of a tagged field as
// the plugin needs it, or if the tag names the wrong role for it. It accepts a primary key
// with the tag serial=CODE, because a serial number may be the primary key. It also accepts
// a relation, which has no column, because newColumn then rejects its type.
func checkWritable(f *schema.Field, t tag) error {
	switch {
	case f.DBName == "" && f.TagSettings["-"] != "":
		return errors.New(`the field has no column: remove gorm:"-" or this tag`)
	case f.Serializer != nil:
		return errors.New("the field has a serializer, which would store the value in its own form: remove the serializer")
	case f.DBName != "" && !f.Creatable:
		return errors.New(`GORM may not write the column on create: remove gorm:"->" or allow it by gorm:"<-:create"`)
	case t.primary && !f.PrimaryKey:
		return errors.New(`the field is not a primary key: add gorm:"primaryKey" or tag it snowflake:"id"`)
	case !t.primary && f.PrimaryKey && t.serial == "":
		return errors.New(`the field is a primary key: tag it snowflake:"pk"`)
	}
	return nil
}

// layouter is a generator whose layout is known, so that serial numbers can be made from
// its IDs.
type layouter interface{ Layout() snowflake.Layout }

// setSerial makes c a column of serial numbers that begin with code, such as PAY.
func (c *Column) setSerial(code string) error {
	l, ok := c.generator.(layouter)
	if !ok {
		return fmt.Errorf("generator%s is a %T, whose layout is unknown: use a *snowflake.Generator, or give it a method Layout() snowflake.Layout", quotedGen(c.genName), c.generator)
	}
	layout := l.Layout()
	format, err := serial.New(code, layout)
	if err != nil {
		return err
	}
	last := layout.Max(layout.Expires()) // the largest ID of the layout
	c.code, c.Serial, c.lastID = code, format, last
	return c.CheckWidth(c.Field)
}

// CheckWidth returns an error if f is declared too narrow for the serial numbers of c.
// The field f is c's field or a foreign key to it.
func (c *Column) CheckWidth(f *schema.Field) error {
	defer ReadLock(f.Schema)() // GORM may set the size of a foreign key in another goroutine
	if size, setting := declaredSize(f); size > 0 && size < c.Serial.Width() {
		return fmt.Errorf("the column has %d characters, a serial number of %s has %d: raise gorm:%q", size, c.code, c.Serial.Width(), setting)
	}
	return nil
}

// sizeOfType finds the size in types such as varchar(32) and character varying(32).
var sizeOfType = regexp.MustCompile(`(?i)char[a-z ]*\(\s*(\d+)\s*\)`)

// declaredSize returns the number of characters that the model declares for a string
// column, and the setting that declares it. It returns 0 if the model declares no size.
// GORM ignores the setting size if the setting type names a type of the database.
func declaredSize(f *schema.Field) (size int, setting string) {
	if f.DataType == schema.String {
		return f.Size, "size"
	}
	if m := sizeOfType.FindStringSubmatch(string(f.DataType)); m != nil {
		size, _ = strconv.Atoi(m[1])
	}
	return size, "type"
}

// Parking returns the place to which the AUTO_INCREMENT counter of the column's table can
// be moved, so that it does not assign the generator's IDs. The place is above all IDs that
// the generator issues in the next ten years. Parking returns nil if the generator's
// layout is unknown.
func (c *Column) Parking() *parking.Place {
	l, ok := c.generator.(layouter)
	if !ok {
		return nil
	}
	p := parking.NewPlace(l.Layout())
	return &p
}

// Name returns the names of the model and the field, such as Order.ID, for error messages.
func (c *Column) Name() string {
	return c.Field.Schema.Name + "." + c.Field.BindName()
}

// Unset reports whether the row lacks a value in the column, which means that it is zero,
// nil, NULL or the empty string.
func (c *Column) Unset(row reflect.Value) bool {
	v, ok := c.Find(row)
	return !ok || c.Kind.Unset(v)
}

// Get returns the key of the row. It returns 0 if the key is unset, or is a string that
// is not an ID.
func (c *Column) Get(row reflect.Value) types.ID {
	v, ok := c.Find(row)
	if !ok {
		return 0
	}
	return c.Kind.get(v)
}

// Value returns the key of the row in the form that the plugin writes into a map. That is
// a string for a string column, and otherwise a types.ID. For a listed model it is an
// int64, as GORM would write it, which is a number in JSON. The row must have a key.
func (c *Column) Value(row reflect.Value) any {
	v, _ := c.Find(row)
	switch v, _ = c.Kind.unwrap(v); {
	case c.Kind.IsString():
		return v.String()
	case c.Listed:
		return c.Get(row).Int64()
	}
	return c.Get(row)
}

// Set stores id in the row.
func (c *Column) Set(row reflect.Value, id types.ID) { c.Kind.set(c.reach(row), id) }

// Clear sets the field to its zero value.
func (c *Column) Clear(row reflect.Value) {
	if v, ok := c.Find(row); ok {
		v.SetZero()
	}
}

// setText stores a serial number in the row.
func (c *Column) setText(row reflect.Value, text string) {
	c.Kind.allocate(c.reach(row)).SetString(text)
}

// fill sets an unset key to the first of ids, and returns the rest of ids. It returns
// false if the key is unset and ids is empty.
func (c *Column) fill(row reflect.Value, ids []types.ID) (rest []types.ID, ok bool) {
	v, reached := c.Find(row) // not reached if it is behind a nil pointer, which Set allocates
	switch {
	case reached && !c.Kind.Unset(v):
		return ids, true
	case len(ids) == 0:
		return nil, false
	case reached:
		c.Kind.set(v, ids[0])
	default:
		c.Set(row, ids[0])
	}
	return ids[1:], true
}

// Content returns the field's value in the row, or nil if the value is zero.
func (c *Column) Content(row reflect.Value) any {
	v, ok := c.Find(row)
	if !ok || v.IsZero() {
		return nil
	}
	return v.Interface()
}

// Differs reports whether two rows have different keys.
func (c *Column) Differs(a, b reflect.Value) bool {
	if c.Unset(a) || c.Unset(b) {
		return c.Unset(a) != c.Unset(b)
	}
	return c.Value(a) != c.Value(b)
}

// Find returns the field without allocating. If the field is in an embedded struct behind
// a nil pointer, Find returns that pointer and false.
func (c *Column) Find(row reflect.Value) (v reflect.Value, ok bool) {
	for _, i := range c.path {
		if i >= 0 {
			row = row.Field(i)
			continue
		}
		row = row.Field(-i - 1) // GORM writes the index i of an embedded pointer as -i-1
		if row.IsNil() {
			return row, false
		}
		row = row.Elem()
	}
	return row, true
}

// reach returns the field, which the caller is going to set. It allocates each nil pointer
// to an embedded struct on the way, as GORM does.
func (c *Column) reach(row reflect.Value) reflect.Value {
	for {
		v, ok := c.Find(row)
		if ok {
			return v
		}
		v.Set(reflect.New(v.Type().Elem())) // v is the first nil pointer on the way
	}
}

// Selection maps the name of a column to true if the statement selects it, and to false
// if the statement omits it. It is nil if the statement has neither Select nor Omit.
type Selection map[string]bool

// Omits reports whether the statement omits the column.
func (s Selection) Omits(c *Column) bool {
	selected, named := s[c.Field.DBName]
	return named && !selected
}
