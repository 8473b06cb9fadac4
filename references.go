package gormflake

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// readLock keeps GORM from changing s: it adds relations to it, and the types and
// sizes of foreign keys, whenever it parses a model that refers to it.
func readLock(s *schema.Schema) (unlock func()) {
	s.Relationships.Mux.RLock()
	return s.Relationships.Mux.RUnlock
}

// relations returns those of s in the order of their names.
func relations(s *schema.Schema) []*schema.Relationship {
	defer readLock(s)()
	var all []*schema.Relationship
	for _, name := range slices.Sorted(maps.Keys(s.Relationships.Relations)) {
		all = append(all, s.Relationships.Relations[name])
	}
	return all
}

// lossyReferences finds foreign keys in which GORM would lose the key they
// refer to: it converts a named integer, as types.ID is one, to a string as Go
// does, which takes it for the code point of one character.
func lossyReferences(s *schema.Schema) []error {
	var errs []error
	for _, rel := range relations(s) {
		for _, ref := range rel.References {
			if taggedKey(ref) && isNamedInteger(ref.PrimaryKey) && indirect(ref.ForeignKey).Kind() == reflect.String {
				errs = append(errs, referenceError(ref, "GORM would store one character of a string instead of the ID: use types.ID or int64 here, or int64 with autoIncrement:false for the key"))
			}
		}
	}
	return errs
}

// narrowReferences finds foreign keys that cannot hold the keys or the serial
// numbers they refer to.
func (p *Plugin) narrowReferences(db *gorm.DB, s *schema.Schema) []error {
	var errs []error
	for _, rel := range relations(s) {
		for _, ref := range rel.References {
			if !taggedKey(ref) {
				continue
			}
			if err := p.fits(db, ref); err != nil {
				errs = append(errs, referenceError(ref, err.Error()))
			}
		}
	}
	return errs
}

func (p *Plugin) fits(db *gorm.DB, ref *schema.Reference) error {
	// The schema in ref may still be in the making by another goroutine; parsing waits for it.
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(reflect.New(ref.PrimaryKey.Schema.ModelType).Interface()); err != nil {
		return err
	}
	for _, c := range p.model(stmt.Schema).columns {
		if c.field.DBName != ref.PrimaryKey.DBName || c.serial == nil {
			continue
		}
		if _, err := serialKindOf(ref.ForeignKey.FieldType); err != nil {
			return err
		}
		return c.fits(ref.ForeignKey)
	}
	_, err := kindOf(ref.ForeignKey.FieldType)
	return err
}

func taggedKey(ref *schema.Reference) bool {
	if ref.PrimaryKey == nil || ref.ForeignKey == nil {
		return false
	}
	_, tagged := ref.PrimaryKey.Tag.Lookup(tagKey)
	return tagged
}

func isNamedInteger(f *schema.Field) bool {
	t := indirect(f)
	k, err := kindOf(t)
	return err == nil && !k.null && !k.isString() && t.PkgPath() != ""
}

func indirect(f *schema.Field) reflect.Type {
	if f.FieldType.Kind() == reflect.Pointer {
		return f.FieldType.Elem()
	}
	return f.FieldType
}

func referenceError(ref *schema.Reference, reason string) error {
	return fmt.Errorf("gormflake: model %s, field %s, foreign key to %s: %s",
		ref.ForeignKey.Schema.Name, ref.ForeignKey.Name, ref.PrimaryKey.Schema.Name, reason)
}
