// Package model describes what a tagged field is: what its tag asks for, which
// Go types hold it, how to read and write it in a row, and which fields one
// generator serves together. It reads schemas and rows, but no statement and no
// database.
//
// A [Set] parses each schema once into a [Model] ([Set.Model], parse, newColumn,
// newGroups). Packages fill and tree ask its groups what a row needs
// ([Group.Needs]), get the IDs ([Set.Generate]), and write them ([Group.Fill]).
//
// # A new tag option
//
//   - parseTag (tag.go) reads it, rejects it where it means nothing, and lists it in
//     its messages; model.go and group.go have its effect on columns.
//   - Rows: internal/fill (rows.go, maps.go for maps, look.go before the INSERT),
//     internal/tree for Assign (link.go, passes.go), and internal/check.
//   - Tests stand beside each of these, in hooks_test.go of the root (every way GORM
//     creates a row, on all databases), and in tag_test.go, with a model in which the
//     tag is wrong. Errors that docs/guarantees.md quotes are provoked in
//     internal/test/docstest/messages_test.go.
//
// # A new Go type for keys
//
//   - [KindOf] and its message, every switch over kinds, whose default is a string
//     (kind.go), foreign keys (reference.go), and models without a tag (tag.go).
//   - Package types: the methods of types.ID, which types.Of repeats
//     (TestOfHasTheMethodsOfID), with internal/guard for unset keys.
//   - internal/fill/maps.go: what is unset, and maps; internal/check: widths in
//     column.go, and check.go.
//   - Tests: kinds_test.go and maps_test.go of internal/fill, pairs_test.go of
//     internal/check, tag_test.go here, assign_shapes_test.go of internal/tree, and
//     hooks_test.go of the root.
package model

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm/schema"
)

// Model is the plugin's view of one parsed schema.
type Model struct {
	Columns []*Column
	Groups  []*Group // the columns by generator
	Err     error    // all mistakes in the tags and in foreign keys of its own, joined
	LeftOut bool     // by a tag, from gormflake.WithModels

	// References are foreign keys of the model and of those to which it is related.
	// Refused are the latter's that cannot hold the model's key: a row without related
	// rows can be created.
	References, Refused []Reference

	schema  *schema.Schema
	uniques struct {
		once sync.Once
		list []Unique
	}
}

// KeyReplacedBy reports whether rel may replace a key from which serial numbers
// are made.
func (m *Model) KeyReplacedBy(rel *schema.Relationship) bool {
	return slices.ContainsFunc(m.Groups, func(g *Group) bool {
		return slices.ContainsFunc(g.parents, func(c *Column) bool { return c.Field == rel.Field })
	})
}

// RefusedBy returns the error of rows that have related rows by rel, nil if there is none.
func (m *Model) RefusedBy(rel *schema.Relationship) error {
	for _, r := range m.Refused {
		if r.Relation.Name == rel.Name {
			return r.Err
		}
	}
	return nil
}

func parse(s *schema.Schema, gens generators) *Model {
	if isJoinTable(s) {
		return &Model{}
	}
	columns, errs := taggedColumns(s, gens)
	m := &Model{schema: s, Columns: columns, Groups: newGroups(s, columns), LeftOut: leavesOut(s.ModelType), References: referencesOf(s, gens)}
	for _, r := range m.References {
		switch {
		case r.Err == nil:
		case r.Relation.Type == schema.BelongsTo:
			errs = append(errs, fmt.Errorf("gormflake: %w", r.Err))
		default:
			m.Refused = append(m.Refused, r)
		}
	}
	m.Err = errors.Join(errs...)
	return m
}

func taggedColumns(s *schema.Schema, gens generators) (columns []*Column, errs []error) {
	seen := map[string]bool{}
	for _, f := range s.Fields {
		text, ok := f.Tag.Lookup(tagKey)
		if !ok || text == leftOut {
			continue
		}
		seen[f.BindName()] = true
		c, err := newColumn(s, f, text, gens)
		switch {
		case err != nil:
			errs = append(errs, tagError(s, f.BindName(), text, err))
		case c != nil:
			columns = append(columns, c)
		}
	}
	errs = append(errs, secondKeys(s, columns)...)
	if leavesOut(s.ModelType) && slices.ContainsFunc(s.PrimaryFields, IsTagged) {
		errs = append(errs, fmt.Errorf("gormflake: model %s: the tag %s:%q leaves the model out, and its key is tagged too: remove one of the tags", s.Name, tagKey, leftOut))
	}
	return columns, append(errs, strayTags(s, seen)...)
}

// secondKeys finds tagged keys that a struct brings which is embedded beside the key of
// the model. They would be part of it, with an ID that is no row's.
func secondKeys(s *schema.Schema, columns []*Column) (errs []error) {
	for _, c := range columns {
		f := c.Field
		_, prefixed := f.TagSettings["EMBEDDEDPREFIX"]
		id := s.LookUpField("id") // which GORM leaves out of the key if another field is tagged primaryKey
		second := prefixed && id != nil && !sameStruct(id, f) || slices.ContainsFunc(s.PrimaryFields, func(other *schema.Field) bool {
			return !sameStruct(other, f) && len(other.BindNames) <= len(f.BindNames) && (prefixed || IsTagged(other))
		})
		if c.Primary && len(f.BindNames) > 1 && second {
			errs = append(errs, fmt.Errorf("gormflake: model %s, field %s: the key of an embedded struct becomes a second primary key, column %s, with an ID that is in no other row: embed a struct without the key, or refer to the row by a foreign key",
				s.Name, f.BindName(), f.DBName))
		}
	}
	return errs
}

// sameStruct reports whether two fields are of the same struct.
func sameStruct(a, b *schema.Field) bool {
	return slices.Equal(a.BindNames[:len(a.BindNames)-1], b.BindNames[:len(b.BindNames)-1])
}

// isJoinTable reports whether GORM generated the struct for a join table. Its
// foreign keys carry copies of the tags of the joined models.
func isJoinTable(s *schema.Schema) bool {
	return s.ModelType.Name() == "" && s.Name != ""
}

func tagError(s *schema.Schema, field, text string, err error) error {
	return fmt.Errorf("gormflake: model %s, field %s, tag %s:%q: %w", s.Name, field, tagKey, text, err)
}

// newColumn returns nil if another tagged field has taken the field's place.
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
	if err := writable(f, t); err != nil {
		return nil, err
	}
	c := &Column{Field: f, Primary: t.primary, Listed: f.StructField.Tag.Get(tagKey) == "", gen: t.gen, path: f.StructField.Index}
	kindOf := KindOf
	if t.serial != "" {
		kindOf = SerialKindOf
	}
	if c.Kind, err = kindOf(f.FieldType); err != nil {
		return nil, err
	}
	var known bool
	if c.source, known = gens[t.gen]; !known {
		return nil, fmt.Errorf("generator %q is unknown: add gormflake.WithGenerator(%[1]q, …) to gormflake.New", t.gen)
	}
	if t.serial == "" {
		return c, nil
	}
	return c, c.setSerial(t.serial)
}

func writable(f *schema.Field, t tag) error {
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

// strayTags finds tags on what GORM does not parse as a field: unexported fields
// and embedded structs.
func strayTags(s *schema.Schema, seen map[string]bool) (errs []error) {
	eachTag(s.ModelType, nil, func(name, text string) {
		if text != leftOut && !seen[name] {
			errs = append(errs, tagError(s, name, text,
				errors.New("GORM has no column for it: tag an exported field that is a column")))
		}
	})
	return errs
}

// eachTag visits the tags in t and in the structs that it embeds.
func eachTag(t reflect.Type, path []string, visit func(name, text string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := slices.Concat(path, []string{f.Name})
		if text, ok := f.Tag.Lookup(tagKey); ok {
			visit(strings.Join(at, "."), text)
		}
		if inner := embedded(f); inner != nil && len(at) < 16 { // a struct may embed itself, by a pointer
			eachTag(inner, at, visit)
		}
	}
}

// embedded returns the struct type that f embeds, nil if it embeds none.
func embedded(f reflect.StructField) reflect.Type {
	_, tagged := schema.ParseTagSetting(f.Tag.Get("gorm"), ";")["EMBEDDED"]
	if !tagged && !f.Anonymous {
		return nil
	}
	if t := indirect(f.Type); t.Kind() == reflect.Struct {
		return t
	}
	return nil
}
