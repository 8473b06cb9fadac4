package model

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/types"
)

// Reference is a foreign key to a tagged column.
type Reference struct {
	Relation *schema.Relationship
	Key      *Column
	Foreign  *schema.Field
	Err      error // why the foreign key cannot hold the key
}

// referencesOf returns the foreign keys of s itself, and those of models to which s is
// related, in a fixed order.
func referencesOf(s *schema.Schema, gens generators) (refs []Reference) {
	for _, rel := range Relations(s) {
		for _, ref := range rel.References {
			if ref.PrimaryKey == nil || ref.ForeignKey == nil || !IsTagged(ref.PrimaryKey) {
				continue
			}
			key, err := newColumn(ref.PrimaryKey.Schema, ref.PrimaryKey, ref.PrimaryKey.Tag.Get(tagKey), gens)
			if key == nil || err != nil {
				continue // an error of the key's model
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

// Relations returns the relations of s, in a fixed order.
func Relations(s *schema.Schema) []*schema.Relationship {
	defer ReadLock(s)()
	r := &s.Relationships
	return slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many)
}

// Error reports that the foreign key cannot hold the key.
func (r *Reference) Error(reason string) error {
	return fmt.Errorf("model %s, field %s, foreign key to %s: %s",
		r.Foreign.Schema.Name, r.Foreign.BindName(), r.Key.Field.Schema.Name, reason)
}

// check returns an error if GORM would lose the key in the foreign key. A serial number
// needs a string, or a type whose own Scan accepts it.
func (r *Reference) check() error {
	if r.Key.Serial == nil {
		return r.checkConversion()
	}
	t := r.Foreign.FieldType
	_, err := SerialKindOf(t)
	basic := t.Kind() <= reflect.Float64 // GORM makes false of any text, and a float of digits
	if err == nil || basic {
		return err
	}
	if _, failed := r.copy(r.Key.Serial.Format(1)); failed == nil {
		return nil
	}
	return err
}

// copy lets GORM copy a key into the foreign key of a scratch row, which it returns.
func (r *Reference) copy(key any) (foreign reflect.Value, err error) {
	row := reflect.New(r.Foreign.Schema.ModelType).Elem()
	ctx := context.Background()
	err = r.Foreign.Set(ctx, row, key)
	return r.Foreign.ReflectValueOf(ctx, row), err
}

// probe is an ID that no narrower type holds.
const probe types.ID = 1<<62 + 1

// checkConversion returns what is wrong with a foreign key of a type that could
// hold the key. GORM converts some integers to a string as Go does: to the one
// character with that code point.
func (r *Reference) checkConversion() error {
	from := r.Key.Field.FieldType
	value := reflect.New(from).Elem()
	r.Key.Kind.set(value, probe)
	stored, err := r.copy(value.Interface())
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

// sameInDatabase reports whether the database gets the same number, or its text.
func sameInDatabase(key, foreign any) bool {
	want, err := driver.DefaultParameterConverter.ConvertValue(key)
	got, foreignErr := driver.DefaultParameterConverter.ConvertValue(foreign)
	return errors.Join(err, foreignErr) == nil && TextOf(got) == TextOf(want)
}

// TextOf returns the value as a column of text has it.
func TextOf(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// IDDigits is the length of the largest ID in decimal.
const IDDigits = 19

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// ReadLock keeps GORM from changing s. GORM adds relations to a schema, and the
// types and sizes of foreign keys, whenever it parses a model that refers to it.
func ReadLock(s *schema.Schema) (unlock func()) {
	s.Relationships.Mux.RLock()
	return s.Relationships.Mux.RUnlock
}
