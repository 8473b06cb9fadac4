package tree_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
)

// treeStep is a step of a case. It takes its random numbers from its own seed, and not from a
// source that earlier steps also use. The test can therefore leave out steps to find a
// shorter case.
type treeStep struct {
	seed    uint64
	maxRows int // number of rows that the step may create
}

// treePaths are the ways to create or change rows, from which a step chooses one. A
// method that is named twice is chosen twice as often.
var treePaths = []func(*forest) error{
	(*forest).create, (*forest).create, (*forest).batches, (*forest).save, (*forest).generic,
	(*forest).firstOrCreate, (*forest).createMaps, (*forest).assignAndBatch, (*forest).assignAndCreate,
	(*forest).upsert, (*forest).upsertSlice, (*forest).upsertMap, (*forest).doNothing,
	(*forest).associate, (*forest).associate, (*forest).saveAgain,
}

// run runs a step, and records which rows exist after it.
func (f *forest) run(s treeStep) error {
	f.r = rand.New(rand.NewPCG(s.seed, 0))
	f.rowsLeft = s.maxRows
	f.share()
	f.tx = f.session()
	err := treePaths[f.r.IntN(len(treePaths))](f)
	w := treeWalk{forest: f, seen: map[treeAddress]bool{}, row: func(_ *schema.Schema, row reflect.Value) { f.existing[rowName(row)] = true }}
	for _, root := range f.roots {
		w.visit(root)
	}
	return err
}

// share makes the rows of the last step shareable, so that new rows may refer to them. It
// leaves out rows that are in several structs.
func (f *forest) share() {
	for _, p := range f.nextShareable {
		f.shareable[p.Type().Elem()] = append(f.shareable[p.Type().Elem()], p)
	}
	f.nextShareable = nil
	for t, pointers := range f.shareable {
		f.shareable[t] = slices.DeleteFunc(pointers, func(p reflect.Value) bool { return f.duplicated[rowName(p.Elem())] })
	}
}

// session returns the database, often with settings that change how GORM creates.
func (f *forest) session() *gorm.DB {
	sessions := map[string]gorm.Session{
		"SkipHooks":              {SkipHooks: true},
		"SkipDefaultTransaction": {SkipDefaultTransaction: true},
		"PrepareStmt":            {PrepareStmt: true},
		"CreateBatchSize: 2":     {CreateBatchSize: 2},
		"FullSaveAssociations":   {FullSaveAssociations: true},
	}
	names := []string{"", "", "", "SkipHooks", "SkipDefaultTransaction", "PrepareStmt", "CreateBatchSize: 2", "FullSaveAssociations"}
	name := names[f.r.IntN(len(names))]
	if name == "" {
		return f.db
	}
	f.logf("session with %s", name)
	session := sessions[name]
	return f.db.Session(&session)
}

// kind returns a random model.
func (f *forest) kind() treeKind { return f.kinds[f.r.IntN(len(f.kinds))] }

func (k treeKind) modelType() reflect.Type { return reflect.TypeOf(k.model).Elem() }

// newTree returns a pointer to a new tree, and adds the tree to the forest.
func (f *forest) newTree(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	f.roots = append(f.roots, p.Elem())
	f.grow(p.Elem(), nil)
	f.nextShareable = append(f.nextShareable, p)
	return p
}

// newTrees returns a pointer to a slice of new trees or of pointers to them.
func (f *forest) newTrees(t reflect.Type) reflect.Value {
	n := 1 + f.r.IntN(4)
	elem := t
	if f.chance(2) {
		elem = reflect.PointerTo(t)
	}
	list := reflect.New(reflect.SliceOf(elem))
	list.Elem().Set(reflect.MakeSlice(list.Type().Elem(), n, n))
	for i := range n {
		row := list.Elem().Index(i)
		if elem != t {
			row.Set(f.newTree(t))
			continue
		}
		f.roots = append(f.roots, row)
		f.grow(row, nil)
	}
	return list
}

// value returns a pointer to trees or, if GORM allows it, the trees themselves.
func (f *forest) value(t reflect.Type) any {
	if f.chance(2) {
		return f.newTree(t).Interface()
	}
	list := f.newTrees(t)
	if f.chance(2) {
		return list.Elem().Interface()
	}
	return list.Interface()
}

// create creates new trees of a random model by Create.
func (f *forest) create() error {
	value := f.value(f.kind().modelType())
	f.logf("Create %s", describe(f, value))
	return f.tx.Create(value).Error
}

// batches creates new trees of a random model by CreateInBatches.
func (f *forest) batches() error {
	value := f.newTrees(f.kind().modelType()).Interface()
	f.logf("CreateInBatches by 2: %s", describe(f, value))
	return f.tx.CreateInBatches(value, 2).Error
}

// save creates new trees of a random model by Save.
func (f *forest) save() error {
	value := f.value(f.kind().modelType())
	f.logf("Save %s", describe(f, value))
	return f.tx.Save(value).Error
}

// generic creates trees by GORM's generics API.
func (f *forest) generic() error {
	kind := f.kind()
	for kind.genericCreate == nil {
		kind = f.kind()
	}
	if f.chance(2) {
		row := f.newTree(kind.modelType()).Interface()
		f.logf("gorm.G Create %s", describe(f, row))
		return kind.genericCreate(f.tx, row)
	}
	list := reflect.New(reflect.SliceOf(kind.modelType()))
	n := 1 + f.r.IntN(4)
	list.Elem().Set(reflect.MakeSlice(list.Type().Elem(), n, n))
	for i := range n {
		f.roots = append(f.roots, list.Elem().Index(i))
		f.grow(list.Elem().Index(i), nil)
	}
	f.logf("gorm.G CreateInBatches by 2: %s", describe(f, list.Interface()))
	return kind.genericBatch(f.tx, list.Interface(), 2)
}

// firstOrCreate looks for a row by its code. The row exists, or FirstOrCreate creates it.
func (f *forest) firstOrCreate() error {
	if old, ok := f.root(); ok && f.chance(2) {
		row := reflect.New(old.Type())
		f.logf("FirstOrCreate of existing %s", rowName(old))
		if err := f.tx.Where("code = ?", codeOf(old)).FirstOrCreate(row.Interface()).Error; err != nil {
			return err
		}
		f.duplicated[rowName(old)] = true
		f.roots = append(f.roots, row.Elem())
		return nil
	}
	row := f.newTree(f.kind().modelType())
	f.logf("FirstOrCreate %s", describe(f, row.Interface()))
	return f.tx.Where("code = ?", codeOf(row.Elem())).FirstOrCreate(row.Interface()).Error
}

// codeOf returns the code of a row, by which the test finds it in the database.
func codeOf(row reflect.Value) string { return row.FieldByName("Code").String() }

// root returns a root whose row is in no other struct.
func (f *forest) root() (reflect.Value, bool) {
	var found []reflect.Value
	for _, root := range f.roots {
		if !f.duplicated[rowName(root)] {
			found = append(found, root)
		}
	}
	if len(found) == 0 {
		return reflect.Value{}, false
	}
	return found[f.r.IntN(len(found))], true
}

// createMaps creates rows from maps, and then adds structs with the values of the maps.
func (f *forest) createMaps() error {
	kind := f.kind()
	s := f.schema(kind.modelType())
	db := f.tx.Model(kind.model)
	// GORM handles slices of maps wrongly if the key is auto-increment.
	if s.PrioritizedPrimaryField != nil && s.PrioritizedPrimaryField.AutoIncrement || f.chance(2) {
		values := f.newMap(s)
		f.logf("Create %s from %v", s.Name, values)
		if err := db.Create(values).Error; err != nil {
			return err
		}
		return f.keepMap(s, values)
	}
	list := make([]map[string]any, 1+f.r.IntN(3))
	for i := range list {
		list[i] = f.newMap(s)
	}
	f.logf("Create %s from %v", s.Name, list)
	create := any(list)
	if f.chance(2) {
		create = &list
	}
	if err := db.Create(create).Error; err != nil {
		return err
	}
	var errs []error
	for _, values := range list {
		errs = append(errs, f.keepMap(s, values))
	}
	return errors.Join(errs...)
}

// newMap returns a map that names the columns in one of the ways that GORM accepts.
func (f *forest) newMap(s *schema.Schema) map[string]any {
	values := map[string]any{"code": f.newCode(), "Title": "map"}
	for _, field := range s.PrimaryFields {
		_, tagged := field.Tag.Lookup("snowflake")
		switch {
		case !tagged:
			values[field.Name] = 1 + f.r.IntN(3)
		case f.chance(4):
			values[[]string{field.DBName, field.Name}[f.r.IntN(2)]] = nil
		}
	}
	f.linkMap(s, values)
	return values
}

// linkMap sets the foreign keys of each belongs-to relation to the keys of a root, except
// of a model whose own key comes from a parent.
func (f *forest) linkMap(s *schema.Schema, values map[string]any) {
	for _, rel := range s.Relationships.BelongsTo {
		for _, root := range f.roots {
			if root.Type() != rel.FieldSchema.ModelType || f.rowsLeft <= 0 || isForeign(s, s.PrimaryFields[0]) {
				continue
			}
			f.rowsLeft--
			for _, ref := range rel.References {
				values[ref.ForeignKey.DBName], _ = ref.PrimaryKey.ValueOf(context.Background(), root)
			}
			break
		}
	}
}

// keepMap adds a struct with the values of the map to the roots.
func (f *forest) keepMap(s *schema.Schema, values map[string]any) error {
	row := reflect.New(s.ModelType).Elem()
	for name, value := range values {
		field := s.LookUpField(name)
		if field == nil {
			return fmt.Errorf("the map has %s, which is in no column", name)
		}
		if err := field.Set(context.Background(), row, value); err != nil {
			return err
		}
	}
	f.roots = append(f.roots, row)
	return nil
}

// assignAndBatch assigns the keys, and then inserts the rows of each model separately.
func (f *forest) assignAndBatch() error {
	value := f.newTrees(f.kind().modelType())
	f.logf("Assign, then CreateInBatches of each model: %s", describe(f, value.Interface()))
	if err := gormflake.Assign(f.db, value.Interface()); err != nil {
		return err
	}
	return f.insertFlat(value.Elem())
}

// insertFlat inserts the new rows of trees, model by model.
func (f *forest) insertFlat(list reflect.Value) error {
	var order []reflect.Type
	rows := map[reflect.Type]reflect.Value{}
	w := treeWalk{forest: f, seen: map[treeAddress]bool{}, row: func(s *schema.Schema, row reflect.Value) {
		if f.created(row) {
			return
		}
		t := s.ModelType
		if !rows[t].IsValid() {
			order = append(order, t)
			rows[t] = reflect.MakeSlice(reflect.SliceOf(reflect.PointerTo(t)), 0, 8)
		}
		rows[t] = reflect.Append(rows[t], row.Addr())
	}}
	for i := range list.Len() {
		w.visit(reflect.Indirect(list.Index(i)))
	}
	for _, t := range order {
		if err := f.db.Omit(butJoins(f.schema(t))...).CreateInBatches(rows[t].Interface(), 3).Error; err != nil {
			return err
		}
	}
	return nil
}

// created reports whether the row was in the database before this step.
func (f *forest) created(row reflect.Value) bool { return f.existing[rowName(row)] }

// butJoins returns the names that omit all relations except the rows of join tables.
func butJoins(s *schema.Schema) []string {
	var names []string
	for _, rel := range relationsOf(s) {
		if rel.Type == schema.Many2Many {
			names = append(names, rel.Name+".*")
		} else {
			names = append(names, rel.Name)
		}
	}
	return names
}

// assignAndCreate assigns the keys, and then creates whole trees.
func (f *forest) assignAndCreate() error {
	value := f.value(f.kind().modelType())
	f.logf("Assign, then Create %s", describe(f, value))
	if err := gormflake.Assign(f.db, value); err != nil {
		return err
	}
	return f.tx.Create(value).Error
}

// byCodeAll returns the clause of an upsert that finds rows by their codes and replaces all
// columns.
func byCodeAll() clause.OnConflict {
	return clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true}
}

// replacement returns a new tree for the row of a root.
func (f *forest) replacement(old reflect.Value) reflect.Value {
	p := reflect.New(old.Type())
	if slices.ContainsFunc(relationsOf(f.schema(old.Type())), setsKey) {
		f.rowsLeft = 1 // no related rows, because these would need the old key, or have it in the table already
	}
	f.grow(p.Elem(), nil)
	f.replace(old, p.Elem())
	return p
}

// replace gives row the code of old. The test then compares the table's row with row, and only
// its key with old.
func (f *forest) replace(old, row reflect.Value) {
	name := rowName(row)
	for _, field := range f.schema(row.Type()).PrimaryFields {
		delete(f.preset, name+"."+field.DBName)
	}
	setField(f.schema(row.Type()).LookUpField("Code"), row, codeOf(old))
	f.stale[addressOf(old)] = true
	f.duplicated[rowName(old)] = true
}

// upsert creates a tree that replaces the row of a root by its code.
func (f *forest) upsert() error {
	old, ok := f.root()
	if !ok {
		return f.create()
	}
	row := f.replacement(old)
	f.logf("upsert by code: %s", describe(f, row.Interface()))
	if err := f.tx.Clauses(byCodeAll()).Create(row.Interface()).Error; err != nil {
		return err
	}
	f.roots = append(f.roots, row.Elem())
	return nil
}

// upsertSlice creates a new tree and one that replaces the row of a root by its code.
func (f *forest) upsertSlice() error {
	old, ok := f.root()
	if !ok {
		return f.batches()
	}
	replaced, fresh := f.replacement(old), f.newTree(old.Type())
	rows := reflect.MakeSlice(reflect.SliceOf(replaced.Type()), 0, 2)
	rows = reflect.Append(rows, fresh, replaced)
	f.logf("upsert by code: %s", describe(f, rows.Interface()))
	if err := f.tx.Clauses(byCodeAll()).Create(rows.Interface()).Error; err != nil {
		return err
	}
	f.roots = append(f.roots, replaced.Elem())
	return nil
}

// upsertMap updates the title of a root's row by a map with the root's code. The map must
// get the row's key.
func (f *forest) upsertMap() error {
	old, ok := f.root()
	if !ok {
		return f.createMaps()
	}
	s := f.schema(old.Type())
	f.rowsLeft = 0
	values := f.newMap(s)
	values["code"] = codeOf(old)
	f.logf("upsert by code of %s from %v", s.Name, values)
	conflict := plugintest.ByCode("title")
	tx := f.tx.Model(reflect.New(old.Type()).Interface()).Clauses(conflict).Create(values)
	if tx.Error != nil {
		return tx.Error
	}
	key := s.PrimaryFields[len(s.PrimaryFields)-1] // the caller sets the first part of a composite key
	if got, want := mapKey(s, values, key), text(key, old); got != want {
		return fmt.Errorf("the map has the key %s, the row %s", got, want)
	}
	setField(s.LookUpField("Title"), old, "map")
	return nil
}

// mapKey returns the value that the map has for a key.
func mapKey(s *schema.Schema, values map[string]any, key *schema.Field) string {
	for name, value := range values {
		if s.LookUpField(name) == key {
			return plainText(value)
		}
	}
	return ""
}

// doNothing creates rows by DO NOTHING. In about half of the cases it creates a row with the
// code of an existing row, which must stay unchanged.
func (f *forest) doNothing() error {
	conflict := clause.OnConflict{DoNothing: true}
	if old, ok := f.root(); ok && f.chance(2) {
		f.rowsLeft = 1
		row := f.tree(old.Type())
		setField(f.schema(old.Type()).LookUpField("Code"), row, codeOf(old))
		f.logf("DO NOTHING for %s", rowName(old))
		return f.tx.Clauses(conflict).Create(row.Addr().Interface()).Error
	}
	value := f.value(f.kind().modelType())
	f.logf("OnConflict DoNothing: Create %s", describe(f, value))
	return f.tx.Clauses(conflict).Create(value).Error
}

// associate appends rows to a relation of a root, or replaces the rows of the relation.
func (f *forest) associate() error {
	owner, ok := f.root()
	if !ok {
		return f.create()
	}
	// GORM's Replace would set a key to NULL.
	relations := slices.DeleteFunc(relationsOf(f.schema(owner.Type())), setsKey)
	if len(relations) == 0 {
		return f.create()
	}
	rel := relations[f.r.IntN(len(relations))]
	clears := rel.Type == schema.HasOne || rel.Type == schema.BelongsTo || f.chance(2)
	values := f.relatedValues(rel)
	db := f.db.Model(owner.Addr().Interface()).Association(rel.Name)
	if clears {
		f.logf("Association %s of %s: Replace by %s", rel.Name, rowName(owner), describe(f, values...))
		f.detach(rel, owner)
		return db.Replace(values...)
	}
	f.logf("Association %s of %s: Append %s", rel.Name, rowName(owner), describe(f, values...))
	return db.Append(values...)
}

// relatedValues returns new rows for a relation.
func (f *forest) relatedValues(rel *schema.Relationship) []any {
	n := 1
	if rel.Type == schema.HasMany || rel.Type == schema.Many2Many {
		n += f.r.IntN(3)
	}
	f.rowsLeft = 0 // GORM does not save the relations of these rows
	values := make([]any, n)
	for i := range values {
		row := reflect.New(rel.FieldSchema.ModelType)
		f.grow(row.Elem(), takenBy(rel))
		values[i] = row.Interface()
	}
	return values
}

// detach keeps the rows of a relation as roots, because GORM leaves them in the database.
func (f *forest) detach(rel *schema.Relationship, owner reflect.Value) {
	for _, row := range relatedRows(rel, owner) {
		// A row inside the owner or its slice is copied, because Replace overwrites it.
		if rel.Field.IndirectFieldType.Kind() == reflect.Struct && rel.Field.FieldType.Kind() != reflect.Pointer ||
			rel.Field.FieldType.Kind() == reflect.Slice && rel.Field.FieldType.Elem().Kind() != reflect.Pointer {
			fresh := reflect.New(row.Type()).Elem()
			fresh.Set(row)
			row = fresh
		}
		f.roots = append(f.roots, row)
		if rel.Type == schema.HasOne || rel.Type == schema.HasMany {
			unlink(rel, row)
		}
	}
}

// unlink clears the foreign keys of a row that GORM has detached, and its pointers back.
func unlink(rel *schema.Relationship, row reflect.Value) {
	for _, ref := range rel.References {
		if ref.OwnPrimaryKey {
			ref.ForeignKey.ReflectValueOf(context.Background(), row).SetZero()
		}
	}
	for _, back := range rel.FieldSchema.Relationships.BelongsTo {
		if intersects(foreignKeys(back), foreignKeys(rel)) {
			back.Field.ReflectValueOf(context.Background(), row).SetZero()
		}
	}
}

// saveAgain changes a root and saves it together with new rows below it.
func (f *forest) saveAgain() error {
	owner, ok := f.root()
	if !ok || f.anyTwice(owner) {
		return f.save()
	}
	s := f.schema(owner.Type())
	setField(s.LookUpField("Title"), owner, "saved again")
	for _, rel := range relationsOf(s) {
		if list := rel.Field.ReflectValueOf(context.Background(), owner); list.Kind() == reflect.Slice && f.chance(2) {
			f.extend(rel, owner, list)
		}
	}
	f.logf("Save again %s", describe(f, owner.Addr().Interface()))
	return f.tx.Save(owner.Addr().Interface()).Error
}

// anyTwice reports whether a row that can be reached from root is in several structs.
func (f *forest) anyTwice(root reflect.Value) (found bool) {
	w := treeWalk{forest: f, seen: map[treeAddress]bool{}, row: func(_ *schema.Schema, row reflect.Value) {
		found = found || f.duplicated[rowName(row)]
	}}
	w.visit(root)
	return found
}

// describe returns trees as text, in their state before a step.
func describe(f *forest, values ...any) string {
	var b strings.Builder
	for i, value := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		f.describe(&b, reflect.ValueOf(value), map[treeAddress]bool{})
	}
	return b.String()
}

// describe writes a tree, a pointer to a tree, or a list of trees.
func (f *forest) describe(b *strings.Builder, v reflect.Value, seen map[treeAddress]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		b.WriteString("&")
		f.describe(b, v.Elem(), seen)
	case reflect.Slice:
		fmt.Fprintf(b, "%s{", strings.ReplaceAll(v.Type().String(), "tree_test.", ""))
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			f.describe(b, v.Index(i), seen)
		}
		b.WriteString("}")
	default:
		f.describeRow(b, v, seen)
	}
}

// describeRow writes the name of a row, its key and its related rows.
func (f *forest) describeRow(b *strings.Builder, row reflect.Value, seen map[treeAddress]bool) {
	b.WriteString(rowName(row))
	if seen[addressOf(row)] {
		b.WriteString(" (again)")
		return
	}
	seen[addressOf(row)] = true
	s := f.schema(row.Type())
	if key := keyOfRow(s, row); strings.Trim(key, ", ") != "" {
		fmt.Fprintf(b, " key %s", key)
	}
	var parts []string
	for _, rel := range relationsOf(s) {
		if v := rel.Field.ReflectValueOf(context.Background(), row); !v.IsZero() {
			var inner strings.Builder
			f.describe(&inner, v, seen)
			parts = append(parts, rel.Name+": "+inner.String())
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(b, " {%s}", strings.Join(parts, ", "))
	}
}
