package model

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

// Reference is a foreign key to a tagged column, for example the field Line.OrderID, which
// refers to Order.ID.
type Reference struct {
	Relation *schema.Relationship
	Key      *Column       // the column to which the foreign key refers
	Foreign  *schema.Field // the foreign key
	Err      error         // the reason why the foreign key cannot hold the key, or nil
}

// referencesOf returns the foreign keys to tagged columns, in the order of the relations.
// The foreign keys are fields of s, and of the models to which s is related.
func referencesOf(s *schema.Schema, gens generators) (refs []Reference) {
	for _, rel := range Relations(s) {
		for _, ref := range rel.References {
			// A polymorphic relation also sets a type column, which has no PrimaryKey.
			if ref.PrimaryKey == nil || ref.ForeignKey == nil || !IsTagged(ref.PrimaryKey) {
				continue
			}
			key, err := newColumn(ref.PrimaryKey.Schema, ref.PrimaryKey, ref.PrimaryKey.Tag.Get(tagKey), gens)
			if key == nil || err != nil {
				continue // the key's own model reports this error
			}
			r := Reference{Relation: rel, Key: key, Foreign: ref.ForeignKey}
			if err := r.check(); err != nil {
				r.Err = r.Error(err.Error())
			}
			refs = append(refs, r)
		}
	}
	return refs
}

// Error returns an error that names the foreign key and gives the reason why it cannot
// hold the key.
func (r *Reference) Error(reason string) error {
	return fmt.Errorf("model %s, field %s, foreign key to %s: %s",
		r.Foreign.Schema.Name, r.Foreign.BindName(), r.Key.Field.Schema.Name, reason)
}

// check returns an error if GORM cannot copy the key into the foreign key without loss. A
// foreign key to a serial number must be a string, or a type whose own Scan accepts it.
func (r *Reference) check() error {
	if r.Key.Serial == nil {
		return r.checkConversion()
	}
	t := r.Foreign.FieldType
	_, err := SerialKindOf(t)
	// basic is set for bools and numbers. For these, copyKey would succeed and lose the
	// text, because GORM converts any text to false for a bool, and digits to a number.
	basic := t.Kind() <= reflect.Float64
	if err == nil || basic {
		return err
	}
	// The type's own Scan decides, here about the serial number of the ID 1.
	if _, copyErr := r.copyKey(r.Key.Serial.Format(1)); copyErr == nil {
		return nil
	}
	return err
}

// copyKey lets GORM copy a key into the foreign key of a new row, and returns the foreign
// key.
func (r *Reference) copyKey(key any) (foreign reflect.Value, err error) {
	row := reflect.New(r.Foreign.Schema.ModelType).Elem()
	ctx := context.Background()
	err = r.Foreign.Set(ctx, row, key)
	return r.Foreign.ReflectValueOf(ctx, row), err
}

// probe is an ID that neither an integer of less than 63 bits nor a float64 can hold.
const probe types.ID = 1<<62 + 1

// checkConversion returns an error if GORM changes a key that it copies into the foreign
// key. For the test it lets GORM copy [probe]. For example, an int32 is too small for it.
// GORM converts some integers to a string as Go does, which results in the one character
// with that code point.
func (r *Reference) checkConversion() error {
	from := r.Key.Field.FieldType
	value := reflect.New(from).Elem()
	r.Key.Kind.set(value, probe)
	stored, err := r.copyKey(value.Interface())
	if err == nil && stored.IsValid() && sameInDatabase(value.Interface(), stored.Interface()) {
		return nil
	}
	foreign, kindErr := KindOf(r.Foreign.FieldType)
	t := indirect(from)
	switch {
	case kindErr != nil:
		return kindErr
	case err != nil:
		return fmt.Errorf("GORM cannot convert the key, a %s: use %s or *%s here", from, t, t)
	case foreign.IsString():
		return fmt.Errorf("GORM would store one character of a string instead of the ID: use %s or *%s here, or sql.NullString for text", t, t)
	default:
		return fmt.Errorf("GORM would store another value than the key, a %s: use %s or *%s here", from, t, t)
	}
}

// sameInDatabase reports whether the database would receive the same number or text for
// both values.
func sameInDatabase(key, foreign any) bool {
	want, err := driver.DefaultParameterConverter.ConvertValue(key)
	got, foreignErr := driver.DefaultParameterConverter.ConvertValue(foreign)
	return errors.Join(err, foreignErr) == nil && TextOf(got) == TextOf(want)
}

// TextOf returns the text that a text column stores for the value.
func TextOf(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
