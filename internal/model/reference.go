package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gorm.io/gorm/schema"
)

// TaggedReferences returns the references in the relations of s to keys that are
// tagged, in a fixed order.
func TaggedReferences(s *schema.Schema) []*schema.Reference {
	defer ReadLock(s)()
	var refs []*schema.Reference
	for _, name := range slices.Sorted(maps.Keys(s.Relationships.Relations)) {
		for _, ref := range s.Relationships.Relations[name].References {
			if toTagged(ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

func toTagged(ref *schema.Reference) bool {
	if ref.PrimaryKey == nil || ref.ForeignKey == nil {
		return false
	}
	_, tagged := ref.PrimaryKey.Tag.Lookup(tagKey)
	return tagged
}

// ReferenceError reports that a foreign key cannot hold the key that it refers to.
func ReferenceError(ref *schema.Reference, reason string) error {
	return fmt.Errorf("gormflake: model %s, field %s, foreign key to %s: %s",
		ref.ForeignKey.Schema.Name, ref.ForeignKey.Name, ref.PrimaryKey.Schema.Name, reason)
}

// lossyReferences finds foreign keys in which GORM would lose the key. It
// converts a named integer, such as types.ID, to a string as Go does: to the one
// character with that code point.
func lossyReferences(s *schema.Schema) []error {
	var errs []error
	for _, ref := range TaggedReferences(s) {
		if isNamedInteger(ref.PrimaryKey) && indirect(ref.ForeignKey).Kind() == reflect.String {
			errs = append(errs, ReferenceError(ref, "GORM would store one character of a string instead of the ID: use types.ID or int64 here, or int64 with autoIncrement:false for the key"))
		}
	}
	return errs
}

func isNamedInteger(f *schema.Field) bool {
	t := indirect(f)
	k, err := KindOf(t)
	return err == nil && !k.nullable && !k.IsString() && t.PkgPath() != ""
}

func indirect(f *schema.Field) reflect.Type {
	if f.FieldType.Kind() == reflect.Pointer {
		return f.FieldType.Elem()
	}
	return f.FieldType
}
