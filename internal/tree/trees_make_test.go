package tree_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// forest contains the rows that a case has created so far. A case is a list of steps of
// TestRandomTrees, each of which creates or changes rows.
type forest struct {
	db       *gorm.DB // a transaction
	tx       *gorm.DB // the same transaction with the settings of the step
	kinds    []treeKind
	r        *rand.Rand      // random numbers of the step
	codes    int             // number of codes that rows have got
	rowsLeft int             // number of rows that the step may still create
	roots    []reflect.Value // rows that the steps have passed to GORM, from which all rows can be reached
	log      []string        // the steps so far

	preset        map[string]string                // keys that the test has set, by model and code
	stale         map[treeAddress]bool             // structs whose row an upsert has replaced
	duplicated    map[string]bool                  // rows that are in several structs, by model and code
	shareable     map[reflect.Type][]reflect.Value // pointers that other rows may share
	nextShareable []reflect.Value                  // pointers that the next step may share
	existing      map[string]bool                  // rows that exist, by model and code
}

// treeAddress identifies a struct by address and type, because a struct and its first
// field have the same address.
type treeAddress struct {
	address uintptr
	model   reflect.Type
}

func addressOf(row reflect.Value) treeAddress { return treeAddress{row.UnsafeAddr(), row.Type()} }

func newForest(db *gorm.DB, kinds []treeKind) *forest {
	return &forest{
		db: db, kinds: kinds,
		preset: map[string]string{}, stale: map[treeAddress]bool{}, duplicated: map[string]bool{},
		shareable: map[reflect.Type][]reflect.Value{}, existing: map[string]bool{},
	}
}

// chance returns true once in n times, at random.
func (f *forest) chance(n int) bool { return f.r.IntN(n) == 0 }

func (f *forest) logf(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

// schema returns GORM's schema of a model.
func (f *forest) schema(t reflect.Type) *schema.Schema {
	stmt := &gorm.Statement{DB: f.db}
	if err := stmt.Parse(reflect.New(t).Interface()); err != nil {
		panic(err)
	}
	return stmt.Schema
}

// newCode returns a code that no row of the forest has.
func (f *forest) newCode() string {
	f.codes++
	return fmt.Sprintf("c%d", f.codes)
}

// tree returns a struct of a model with random relations, usually without keys.
func (f *forest) tree(t reflect.Type) reflect.Value {
	row := reflect.New(t).Elem()
	f.grow(row, nil)
	return row
}

// grow sets the columns and relations of a row. It does not set the foreign keys in
// taken, which the relation from another row to this row sets.
func (f *forest) grow(row reflect.Value, taken []*schema.Field) {
	s := f.schema(row.Type())
	f.rowsLeft--
	setField(s.LookUpField("Code"), row, f.newCode())
	setField(s.LookUpField("Title"), row, fmt.Sprintf("t%d", f.r.IntN(10)))
	f.setKeys(s, row, taken)
	for _, rel := range relationsOf(s) {
		if f.rowsLeft > 0 && f.chance(2) && (!owns(rel) || !intersects(foreignKeys(rel), taken)) {
			f.relate(rel, row)
			taken = append(taken, foreignKeys(rel)...)
		}
	}
}

// setKeys sets the keys that the plugin does not fill, and some of the keys that it
// fills.
func (f *forest) setKeys(s *schema.Schema, row reflect.Value, taken []*schema.Field) {
	for _, field := range s.PrimaryFields {
		if _, tagged := field.Tag.Lookup("snowflake"); !tagged {
			setField(field, row, 1+f.r.IntN(3))
			continue
		}
		// A serial number is made by the plugin, and a foreign key comes from a related row.
		if field.GORMDataType == "string" && strings.Contains(string(field.Tag), "serial") || isForeign(s, field) || intersects(taken, s.PrimaryFields) {
			continue
		}
		if f.chance(5) {
			f.codes++
			key := 1<<50 + f.codes
			setField(field, row, fmt.Sprint(key))
			f.preset[rowName(row)+"."+field.DBName] = fmt.Sprint(key)
		}
	}
}

// isForeign reports whether a key is the foreign key of a belongs-to relation.
func isForeign(s *schema.Schema, key *schema.Field) bool {
	for _, rel := range s.Relationships.BelongsTo {
		if slices.Contains(foreignKeys(rel), key) {
			return true
		}
	}
	return false
}

// relate fills one relation of a row.
func (f *forest) relate(rel *schema.Relationship, owner reflect.Value) {
	field := rel.Field.ReflectValueOf(context.Background(), owner)
	switch field.Kind() {
	case reflect.Struct:
		f.grow(field, takenBy(rel))
	case reflect.Pointer:
		field.Set(f.pointer(rel, owner))
	default:
		for range 1 + f.r.IntN(3) {
			f.extend(rel, owner, field)
		}
	}
}

// extend appends a row to the list of a relation.
func (f *forest) extend(rel *schema.Relationship, owner, list reflect.Value) {
	if f.rowsLeft <= 0 {
		return
	}
	if list.Type().Elem().Kind() == reflect.Pointer {
		list.Set(reflect.Append(list, f.pointer(rel, owner)))
		return
	}
	row := reflect.New(rel.FieldSchema.ModelType).Elem()
	f.grow(row, takenBy(rel))
	list.Set(reflect.Append(list, row))
}

// pointer returns a row for a relation. It is a new row, with or without a way back, or a
// row to which another row refers.
func (f *forest) pointer(rel *schema.Relationship, owner reflect.Value) reflect.Value {
	t := rel.FieldSchema.ModelType
	if f.chance(3) && (rel.Type == schema.BelongsTo && !setsKey(rel) || rel.Type == schema.Many2Many) {
		if p, ok := f.shared(t); ok {
			return p
		}
	}
	p := reflect.New(t)
	f.grow(p.Elem(), takenBy(rel))
	f.linkBack(rel, owner, p.Elem())
	if isLeaf(rel.FieldSchema) {
		f.shareable[t] = append(f.shareable[t], p)
	} else {
		f.nextShareable = append(f.nextShareable, p)
	}
	return p
}

// shared returns a row to which other rows may refer as well. It returns no row if GORM updates
// related rows (FullSaveAssociations), because an upsert may then update a row twice, which
// PostgreSQL rejects. It returns a row with relations only once in a step, and a new row with
// relations only from the next step on. Otherwise the row could become its own ancestor, and
// GORM would insert it twice.
func (f *forest) shared(t reflect.Type) (reflect.Value, bool) {
	found := f.shareable[t]
	if len(found) == 0 || f.tx.FullSaveAssociations {
		return reflect.Value{}, false
	}
	i := f.r.IntN(len(found))
	p := found[i]
	if !isLeaf(f.schema(t)) {
		f.shareable[t] = slices.Delete(found, i, i+1)
		f.nextShareable = append(f.nextShareable, p)
	}
	return p, true
}

// isLeaf reports whether a model has no relations, so that its rows cannot be in a cycle.
func isLeaf(s *schema.Schema) bool { return len(relationsOf(s)) == 0 }

// linkBack makes, in half of the cases, the belongs-to relation of a row point back to its
// owner. It skips an owner that is not a root, because such a row may move in memory.
func (f *forest) linkBack(rel *schema.Relationship, owner, row reflect.Value) {
	if rel.Type == schema.BelongsTo || rel.Type == schema.Many2Many || !f.chance(2) {
		return
	}
	for _, back := range rel.FieldSchema.Relationships.BelongsTo {
		if intersects(foreignKeys(back), foreignKeys(rel)) && back.Field.FieldType == owner.Addr().Type() && f.isRoot(owner) {
			setField(back.Field, row, owner.Addr().Interface())
		}
	}
}

// isRoot reports whether a row is a root, which does not move.
func (f *forest) isRoot(row reflect.Value) bool {
	return slices.ContainsFunc(f.roots, func(root reflect.Value) bool { return addressOf(root) == addressOf(row) })
}

// owns reports whether the foreign key of the relation must be set by this relation alone.
// [forest.grow] then uses the relation only if no other relation sets the same foreign key.
func owns(rel *schema.Relationship) bool { return rel.Type == schema.BelongsTo || setsKey(rel) }

// setsKey reports whether a relation sets a primary key.
func setsKey(rel *schema.Relationship) bool {
	return rel.Type != schema.Many2Many && slices.ContainsFunc(foreignKeys(rel), func(f *schema.Field) bool { return f.PrimaryKey })
}

// takenBy returns the columns of the related row that rel sets.
func takenBy(rel *schema.Relationship) []*schema.Field {
	if rel.Type == schema.BelongsTo && !setsKey(rel) || rel.Type == schema.Many2Many {
		return nil
	}
	return foreignKeys(rel)
}

// foreignKeys returns the columns that a relation sets.
func foreignKeys(rel *schema.Relationship) (fields []*schema.Field) {
	for _, ref := range rel.References {
		fields = append(fields, ref.ForeignKey)
	}
	return fields
}

// intersects reports whether a field is in both lists.
func intersects(a, b []*schema.Field) bool {
	return slices.ContainsFunc(a, func(f *schema.Field) bool { return slices.Contains(b, f) })
}

// relationsOf returns the relations in a fixed order.
func relationsOf(s *schema.Schema) []*schema.Relationship {
	r := &s.Relationships
	all := slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many)
	slices.SortFunc(all, func(a, b *schema.Relationship) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// setField sets a field of a row as GORM does, which must not fail.
func setField(field *schema.Field, row reflect.Value, value any) {
	if err := field.Set(context.Background(), row, value); err != nil {
		panic(err)
	}
}

// rowName returns the name by which a row is identified, which consists of its model and
// its code.
func rowName(row reflect.Value) string {
	return row.Type().Name() + " " + row.FieldByName("Code").String()
}
