// Package model describes the tagged fields of GORM models. It parses their tags, checks
// that their Go types can hold an ID, reads and writes them in rows, and groups the
// fields that use the same generator. It reads schemas and rows, but no statement and no
// database.
//
// A [Set] parses each schema once into a [Model] ([Set.Model], parseModel, newColumn,
// newGroups). Packages fill and tree ask the groups of a model how many IDs a row needs
// ([Group.Needs]), get the IDs ([Set.Generate]), and write them ([Group.Fill]).
//
// # A new tag option
//
// Every option changes these files:
//
//   - tag.go: parseOption reads the option, rejects it where it has no meaning, and lists it
//     in its messages. column.go: newColumn copies it to the [Column].
//   - tag_test.go, and serials_errors_test.go of internal/fill, which have models in which
//     the tag is wrong, and fuzz targets that list the tags that are right.
//   - doc.go of the root, and the tables of both READMEs.
//
// Further places depend on the effect of the option:
//
//   - It rejects IDs of the generator: checkIDs (group.go), which [Set.Generate] calls before
//     any row gets an ID of the group. It knows the columns of the group, but not which of
//     them gets which ID. If an option limits one column of several, let [Group.Fill] return
//     an error, and set the row's keys to 0 again. Test it as
//     TestSerialGeneratorBreaksContract of internal/fill does.
//   - It changes which IDs a column gets: [Group.Fill] and [Set.Generate]. If Generate asks
//     again for IDs that do not suit, limit the attempts and return an error, because a
//     generator may have none that suits: without bits for a sequence, the lowest bits of all
//     its IDs are the worker. If the generator may be called more often, the comments of
//     Assign, CopySource and doc.go in the root say how often, and so do fill.go and keys.go of
//     internal/fill, and the diagram of internal/README.md. If the column gets only some of
//     the generator's IDs, docs/guarantees.md and docs/engines.md promise too much about the
//     low bits of keys, and docs/ids.md about how many IDs there are.
//   - It changes how rows are filled: internal/fill, where keys.go fills the rows or maps of a
//     statement, rows.go counts and sets the keys of rows, maps.go converts maps to structs
//     and back, select.go decides on Select and Omit, and checkkeys.go checks rows before the
//     INSERT. Package copyrows calls fill. Then newGroups (group.go) must leave [Group.Plain]
//     nil for the column, because such a group is filled without the methods of [Column].
//   - It acts on each key that is set, or changes the result of [Group.Needs] or how foreign
//     keys copy keys: also internal/tree, for Assign. visitRow (keys.go) sets a key, and
//     visitLink may replace it afterwards; link.go and count.go find links and count IDs.
//   - It rejects keys that are set: checkKeys, checkMaps and checkSkipped (checkkeys.go of
//     internal/fill) see the rows just before the INSERT, also for CopySource. For
//     structs, checkSkipped leaves out keys with a default. Assign must reject keys in
//     countPass.visitRow (count.go of internal/tree), before the tree changes, but visitLink
//     may replace a key later. Reject keys there, and in observeKeys (rows.go of
//     internal/fill), before the generator observes them, because gormflaketest continues
//     after each key that it observes. [Column.Get] is negative for a uint64 above MaxInt64,
//     and 0 for a text that is no ID. No check can tell a key of the program from a key that
//     this create, Assign, CopySource or an earlier create has set, and GORM also creates
//     existing rows with their keys, in relations and in Save. So accept each ID that the
//     generator may have issued; it may be ahead of the clock. Test rejections as
//     TestLostKeys of internal/fill does. The comments of Assign, CopySource and Skip,
//     doc.go, both READMEs, docs/gorm.md, docs/testing.md and docs/guarantees.md say that the
//     plugin keeps a key that is set.
//   - It needs a value from the program, such as a generator: an Option in options.go of the
//     root, which newPlugin passes to [NewSet], with an Example in example_test.go.
//   - It needs more of the generator than IDs, such as its layout or its clock: layouter
//     (column.go) shows how. generator.go of the root names the method, and
//     snowflake.Generator, both generators of gormflaketest, and LayoutCounter of
//     internal/test/plugintest need it.
//   - It lets a column be empty: upserts find existing rows by a tagged column (identifier in
//     returning.go, find.go, prepare.go, upsertreport.go and confirm.go of internal/fill).
//   - It changes the stored form of a key: reference.go, for foreign keys.
//   - It needs another type or constraint of the column in the database, or leaves keys to
//     the database: internal/check, which checks widths in column.go and columntype.go,
//     foreign keys in check.go, and counters in counter.go and column.go. Change live.go only
//     for a property that the catalog must give.
//   - It is a new role, such as pk: the command "gormflake vet" parses tags itself
//     (cmd/gormflake/internal/cli/vet/types.go), but accepts every option of pk. Messages that
//     tell a user which tag to write are in column.go and listed.go here, guard.go of
//     internal/guard (primary keys only), and build.go and count.go of internal/tree.
//   - It changes the name of a column in errors: rowError, checkOmitted and checkSent of
//     internal/fill, and ModifyStatement of internal/guard.
//   - It names another field: newColumn finds the field.
//   - Rows get or store other values: hooks_test.go of the root (every way GORM creates a row, on
//     all databases, with the models of internal/test/plugintest), a test in each changed
//     package, and docs/gorm.md.
//   - Rows are rejected: docs/gorm.md too. If docs/guarantees.md quotes the error,
//     internal/test/docstest/messages_test.go provokes it. If the keys 1, 2, 3 of package
//     gormflaketest do not satisfy the option, docs/testing.md says so.
//
// # A new Go type for keys
//
//   - In this package it concerns [KindOf] and its message, every switch over kinds, whose
//     default is a string (kind.go), foreign keys (reference.go), and models without a tag
//     (listed.go).
//   - In package types it concerns the methods of types.ID, which types.Of repeats
//     (TestOfHasTheMethodsOfID), with internal/guard for unset keys.
//   - internal/fill/maps.go decides which values in maps are unset. internal/check
//     compares widths in columntype.go and column.go.
//   - The type is documented in doc.go of the root and in docs/gorm.md.
//   - Tests are in kinds_test.go and maps_test.go of internal/fill, pairs_test.go of
//     internal/check, tag_test.go here, assign_shapes_test.go of internal/tree, and
//     hooks_test.go of the root.
package model

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"gorm.io/gorm/schema"
)

// Model holds the tagged columns and the foreign keys of a parsed schema.
type Model struct {
	Columns []*Column
	Groups  []*Group // the columns by generator
	Err     error    // all mistakes in the tags and in the model's own foreign keys, joined
	LeftOut bool     // a tag excludes the model from gormflake.WithModels

	// References are the foreign keys of the model and of its related models. Refused are
	// the foreign keys of related models that cannot hold the model's key, for example an
	// int32 Line.OrderID. They are no part of Err, because a row without related rows can be
	// created.
	References, Refused []Reference

	schema  *schema.Schema
	uniques struct { // the result of Uniques, which the first call computes
		once sync.Once
		list []Unique
	}
}

// KeyReplacedBy reports whether the model's primary key is also the foreign key of the
// belongs-to relation rel, so that GORM replaces the key when it saves rel. It returns
// false if no serial numbers are made from the key.
func (m *Model) KeyReplacedBy(rel *schema.Relationship) bool {
	return slices.ContainsFunc(m.Groups, func(g *Group) bool {
		return slices.ContainsFunc(g.parents, func(c *Column) bool { return c.Field == rel.Field })
	})
}

// RefusedBy returns the error for a row with related rows by the relation rel, if the foreign
// key of these cannot hold the row's key. It returns nil if the foreign key can hold the key.
func (m *Model) RefusedBy(rel *schema.Relationship) error {
	for _, r := range m.Refused {
		if r.Relation.Name == rel.Name {
			return r.Err
		}
	}
	return nil
}

// Uniques returns the unique indexes and constraints of the model, without its primary
// key and without indexes on expressions. It parses the model again, because GORM changes
// the schema when it reads its indexes.
func (m *Model) Uniques(namer schema.Namer) []Unique {
	m.uniques.once.Do(func() {
		s, err := schema.Parse(reflect.New(m.schema.ModelType).Interface(), &sync.Map{}, namer)
		if err == nil {
			m.uniques.list = uniquesOf(s)
		}
	})
	return m.uniques.list
}

// parseModel describes the tagged columns, the groups and the foreign keys of a schema. A
// struct that GORM generated for a join table gets an empty model, because its tags are
// copies.
func parseModel(s *schema.Schema, gens generators) *Model {
	if isJoinTable(s) {
		return &Model{}
	}
	columns, errs := taggedColumns(s, gens)
	m := &Model{schema: s, Columns: columns, Groups: newGroups(s, columns), LeftOut: leavesOut(s.ModelType), References: referencesOf(s, gens)}
	for _, r := range m.References {
		switch {
		case r.Err == nil:
		case r.Relation.Type == schema.BelongsTo: // the model's own foreign key
			errs = append(errs, fmt.Errorf("gormflake: %w", r.Err))
		default:
			m.Refused = append(m.Refused, r)
		}
	}
	m.Err = errors.Join(errs...)
	return m
}

// taggedColumns returns the columns of the tagged fields, and an error for each wrong tag.
func taggedColumns(s *schema.Schema, gens generators) (columns []*Column, errs []error) {
	seen := map[string]bool{} // the tagged fields that GORM knows
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
		case c != nil: // nil if another tagged field has the column
			columns = append(columns, c)
		}
	}
	errs = append(errs, secondKeys(s, columns)...)
	if leavesOut(s.ModelType) && slices.ContainsFunc(s.PrimaryFields, IsTagged) {
		errs = append(errs, fmt.Errorf("gormflake: model %s: the tag %s:%q leaves the model out, and its key is tagged too: remove one of the tags", s.Name, tagKey, leftOut))
	}
	return columns, append(errs, strayTags(s, seen)...)
}

// secondKeys returns an error for each tagged key of an embedded struct that becomes a
// second primary key, in addition to the model's own key. For example, an Order embeds a
// Customer with its key, to copy the customer's columns. That key would get a new ID,
// which no customer has.
func secondKeys(s *schema.Schema, columns []*Column) (errs []error) {
	for _, c := range columns {
		f := c.Field
		isEmbedded := len(f.BindNames) > 1
		if c.Primary && isEmbedded && hasOtherKey(s, f) {
			errs = append(errs, fmt.Errorf("gormflake: model %s, field %s: the key of an embedded struct becomes a second primary key, column %s, with an ID that is in no other row: embed a struct without the key, or refer to the row by a foreign key",
				s.Name, f.BindName(), f.DBName))
		}
	}
	return errs
}

// hasOtherKey reports whether the model has a key of its own besides f, the key of an
// embedded struct. The model's own key is in another struct, and not nested deeper than f.
// If f has no embeddedPrefix, only a tagged key counts, because the program may mean a
// composite key, for example of a tenant's ID and f.
func hasOtherKey(s *schema.Schema, f *schema.Field) bool {
	_, prefixed := f.TagSettings["EMBEDDEDPREFIX"]
	// If another field, such as f, has the setting primaryKey, GORM does not make a field ID
	// without this setting a primary key. The field ID is the model's own key nevertheless.
	if id := s.LookUpField("id"); prefixed && id != nil && !sameStruct(id, f) {
		return true
	}
	return slices.ContainsFunc(s.PrimaryFields, func(other *schema.Field) bool {
		return !sameStruct(other, f) && len(other.BindNames) <= len(f.BindNames) && (prefixed || IsTagged(other))
	})
}

// sameStruct reports whether two fields are declared in the same struct. BindNames is the
// path of names that leads from the model to a field, such as Author and ID.
func sameStruct(a, b *schema.Field) bool {
	return slices.Equal(a.BindNames[:len(a.BindNames)-1], b.BindNames[:len(b.BindNames)-1])
}

// isJoinTable reports whether GORM generated the struct for a join table. The schema of
// such a struct has a name, and its Go type has none. Its foreign keys carry copies of the
// tags of the joined models.
func isJoinTable(s *schema.Schema) bool {
	return s.ModelType.Name() == "" && s.Name != ""
}

// strayTags returns an error for each snowflake tag that would have no effect, because it is
// not on a column. seen contains the tagged fields of the schema, by their names such as
// Base.ID. GORM parses neither unexported fields nor embedded structs as fields.
func strayTags(s *schema.Schema, seen map[string]bool) (errs []error) {
	eachTag(s.ModelType, nil, func(name, text string) {
		if text != leftOut && !seen[name] {
			errs = append(errs, tagError(s, name, text,
				errors.New("GORM has no column for it: tag an exported field that is a column")))
		}
	})
	return errs
}

// tagError returns an error that names the model, the field and its tag.
func tagError(s *schema.Schema, field, text string, err error) error {
	return fmt.Errorf("gormflake: model %s, field %s, tag %s:%q: %w", s.Name, field, tagKey, text, err)
}
