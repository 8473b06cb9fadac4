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

// TaggedReferences returns the references in the relations of s to keys that are
// tagged, in a fixed order and each once.
func TaggedReferences(s *schema.Schema) []*schema.Reference {
	defer ReadLock(s)()
	var refs []*schema.Reference
	r := &s.Relationships
	for _, rel := range slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many) {
		for _, ref := range rel.References {
			if toTagged(ref) && !slices.ContainsFunc(refs, sameColumns(ref)) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

func sameColumns(ref *schema.Reference) func(*schema.Reference) bool {
	return func(r *schema.Reference) bool {
		return r.PrimaryKey == ref.PrimaryKey && r.ForeignKey == ref.ForeignKey
	}
}

func toTagged(ref *schema.Reference) bool {
	return ref.PrimaryKey != nil && ref.ForeignKey != nil && isTagged(ref.PrimaryKey)
}

// ReferenceError reports that a foreign key cannot hold the key that it refers to.
func ReferenceError(ref *schema.Reference, reason string) error {
	return fmt.Errorf("model %s, field %s, foreign key to %s: %s",
		ref.ForeignKey.Schema.Name, ref.ForeignKey.BindName(), ref.PrimaryKey.Schema.Name, reason)
}

// RefusedRelation is a relation whose rows cannot refer to the row that has them. Only
// a row that has some is refused.
type RefusedRelation struct {
	Name string
	Err  error
	rows *Column
}

// In reports whether the row has related rows.
func (r *RefusedRelation) In(row reflect.Value) bool {
	v, ok := r.rows.Find(row)
	if ok && v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	return ok && !v.IsZero()
}

// lossyReferences finds foreign keys in which GORM or the database would lose the
// key: those of s itself, and those of models to which s is related.
func lossyReferences(s *schema.Schema) (own []error, refused []RefusedRelation) {
	defer ReadLock(s)()
	r := &s.Relationships
	for _, rel := range slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many) {
		for _, ref := range rel.References {
			err := CheckReference(ref)
			switch {
			case err == nil:
			case rel.Type == schema.BelongsTo:
				own = append(own, fmt.Errorf("gormflake: %w", err))
			default:
				refused = append(refused, RefusedRelation{rel.Name, err, NewColumn(rel.Field)})
			}
		}
	}
	return own, refused
}

// CheckReference returns an error if GORM would lose a tagged key in the foreign key.
// Serial numbers are exempt: they are strings, which GORM converts or rejects.
func CheckReference(ref *schema.Reference) error {
	if !toTagged(ref) {
		return nil
	}
	t, err := parseTag(ref.PrimaryKey.Tag.Get(tagKey))
	if err != nil || t.serial != "" {
		return nil
	}
	key, err := KindOf(ref.PrimaryKey.FieldType)
	if err != nil {
		return nil // an error of the key's model
	}
	if err := checkConversion(key, ref); err != nil {
		return ReferenceError(ref, err.Error())
	}
	return nil
}

// probe is an ID that no narrower type holds.
const probe types.ID = 1<<62 + 1

// checkConversion lets GORM copy a key into the foreign key of a scratch row.
func checkConversion(key Kind, ref *schema.Reference) error {
	if ref.PrimaryKey.FieldType == ref.ForeignKey.FieldType {
		return nil
	}
	value := reflect.New(ref.PrimaryKey.FieldType).Elem()
	key.set(value, probe)
	row := reflect.New(ref.ForeignKey.Schema.ModelType).Elem()
	ctx := context.Background()
	err := ref.ForeignKey.Set(ctx, row, value.Interface())
	stored := ref.ForeignKey.ReflectValueOf(ctx, row)
	if err == nil && stored.IsValid() && sameInDatabase(value.Interface(), stored.Interface()) {
		return nil
	}
	foreign, kindErr := KindOf(ref.ForeignKey.FieldType)
	if kindErr != nil {
		return kindErr
	}
	return conversionError(ref, foreign, err)
}

// conversionError returns what is wrong with a foreign key of a type that could
// hold the key. GORM converts some integers to a string as Go does: to the one
// character with that code point.
func conversionError(ref *schema.Reference, foreign Kind, err error) error {
	t := indirect(ref.PrimaryKey.FieldType)
	switch {
	case err != nil:
		return fmt.Errorf("GORM cannot convert the key, a %s: use %s or *%s here", ref.PrimaryKey.FieldType, t, t)
	case foreign.IsString():
		return fmt.Errorf("GORM would store one character of a string instead of the ID: use %s or *%s here, or sql.NullString for text", t, t)
	default:
		return fmt.Errorf("GORM would store another value than the key, a %s: use %s or *%s here", ref.PrimaryKey.FieldType, t, t)
	}
}

// sameInDatabase reports whether the database gets the same number, or its text.
func sameInDatabase(key, foreign any) bool {
	want, err := driver.DefaultParameterConverter.ConvertValue(key)
	got, foreignErr := driver.DefaultParameterConverter.ConvertValue(foreign)
	return errors.Join(err, foreignErr) == nil && textOf(got) == textOf(want)
}

func textOf(v driver.Value) string {
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
