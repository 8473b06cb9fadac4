package tree_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/test/plugintest"
)

// treeWalk visits every struct of some trees once. It passes each struct to row, and each
// pair of an owner and a related row to link.
type treeWalk struct {
	forest *forest
	seen   map[treeAddress]bool
	row    func(s *schema.Schema, row reflect.Value)
	link   func(rel *schema.Relationship, owner, related reflect.Value)
}

// visit visits a row and the rows that can be reached from it.
func (w *treeWalk) visit(row reflect.Value) {
	if w.seen[addressOf(row)] {
		return
	}
	w.seen[addressOf(row)] = true
	s := w.forest.schema(row.Type())
	w.row(s, row)
	for _, rel := range relationsOf(s) {
		for _, related := range relatedRows(rel, row) {
			if w.link != nil {
				w.link(rel, row, related)
			}
			w.visit(related)
		}
	}
}

// relatedRows returns the rows of a relation.
func relatedRows(rel *schema.Relationship, owner reflect.Value) []reflect.Value {
	v := rel.Field.ReflectValueOf(context.Background(), owner)
	switch {
	case v.IsZero():
		return nil
	case v.Kind() != reflect.Slice:
		return []reflect.Value{reflect.Indirect(v)}
	}
	rows := make([]reflect.Value, v.Len())
	for i := range rows {
		rows[i] = reflect.Indirect(v.Index(i))
	}
	return rows
}

// forestCheck compares a forest with the rows of the database.
type forestCheck struct {
	*forest
	stored   map[string]reflect.Value   // rows of the database by model and code
	expected map[string]bool            // rows that the forest has, by model and code
	joins    map[string]map[string]bool // join rows that the forest has, by table and keys
	problems []string
}

// check returns all differences between the forest and the database.
func (f *forest) check() ([]string, error) {
	c := &forestCheck{forest: f, stored: map[string]reflect.Value{}, expected: map[string]bool{}, joins: map[string]map[string]bool{}}
	for _, kind := range f.kinds {
		if err := c.load(reflect.TypeOf(kind.model).Elem()); err != nil {
			return nil, err
		}
	}
	w := treeWalk{forest: f, seen: map[treeAddress]bool{}, row: c.checkRow, link: c.checkLink}
	for _, root := range f.roots {
		w.visit(root)
	}
	for _, kind := range f.kinds {
		c.checkOrphans(f.schema(reflect.TypeOf(kind.model).Elem()))
	}
	for name := range c.stored {
		if !c.expected[name] {
			c.report("%s: a row of no struct", name)
		}
	}
	if err := c.checkJoins(); err != nil {
		return nil, err
	}
	slices.Sort(c.problems)
	return c.problems, nil
}

func (c *forestCheck) report(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// load reads all rows of a model, and reports codes and keys that two rows have.
func (c *forestCheck) load(t reflect.Type) error {
	list := reflect.New(reflect.SliceOf(t))
	if err := c.db.Session(&gorm.Session{NewDB: true}).Find(list.Interface()).Error; err != nil {
		return err
	}
	keys := map[string]string{}
	for i := range list.Elem().Len() {
		row := list.Elem().Index(i)
		name, key := rowName(row), keyOfRow(c.schema(t), row)
		if other, ok := c.stored[name]; ok {
			c.report("%s: two rows, %s and %s", name, key, keyOfRow(c.schema(t), other))
		}
		if other, ok := keys[key]; ok {
			c.report("%s: has the key %s of %s", name, key, other)
		}
		c.stored[name], keys[key] = row, name
	}
	for _, rel := range c.schema(t).Relationships.Many2Many {
		if c.joins[rel.JoinTable.Table] == nil {
			c.joins[rel.JoinTable.Table] = map[string]bool{}
		}
	}
	return nil
}

// checkRow compares a struct with its row. A stale struct, whose row an upsert has
// replaced, has only the key in common with the row.
func (c *forestCheck) checkRow(s *schema.Schema, row reflect.Value) {
	name := rowName(row)
	c.expected[name] = true
	stored, ok := c.stored[name]
	if !ok {
		c.report("%s: no row", name)
		return
	}
	for _, field := range s.Fields {
		if field.DBName == "" || field.FieldType == reflect.TypeFor[time.Time]() {
			continue
		}
		_, tagged := field.Tag.Lookup("snowflake")
		got, want := text(field, row), text(field, stored) // of the struct, and of the row
		switch preset, ok := c.preset[name+"."+field.DBName]; {
		case (field.PrimaryKey || tagged) && want == "":
			c.report("%s: row has no %s", name, field.Name)
		case ok && want != preset:
			c.report("%s: row has %s = %q, the caller set %q", name, field.Name, want, preset)
		case got != want && (field.PrimaryKey || !c.stale[addressOf(row)]):
			c.report("%s: row has %s = %q, struct %q", name, field.Name, want, got)
		case isSerialOfKey(s, field) && !c.duplicated[name] && idInSerial(field, want) != text(s.PrimaryFields[0], stored):
			c.report("%s: row has %s = %q, which is not made from its key", name, field.Name, want)
		}
	}
}

// isSerialOfKey reports whether the field holds a serial number that is made from the row's key.
// It leaves out composite keys, because check compares the number with a single key.
func isSerialOfKey(s *schema.Schema, field *schema.Field) bool {
	return strings.Contains(field.Tag.Get("snowflake"), "serial") && !field.PrimaryKey && len(s.PrimaryFields) == 1
}

// idInSerial returns the ID in a serial number of a field.
func idInSerial(field *schema.Field, number string) string {
	_, code, _ := strings.Cut(field.Tag.Get("snowflake"), "serial=")
	id, err := plugintest.Numbers(code).Parse(number)
	if err != nil {
		return err.Error()
	}
	return id.String()
}

// checkOrphans reports rows of a model whose parents do not exist.
func (c *forestCheck) checkOrphans(s *schema.Schema) {
	for _, rel := range relationsOf(s) {
		if rel.Type == schema.Many2Many || setsKey(rel) { // a foreign key that is the row's key needs no parent
			continue
		}
		parents, children := s.ModelType, rel.FieldSchema.ModelType
		if rel.Type == schema.BelongsTo {
			parents, children = children, parents
		}
		keys := map[string]bool{"": true} // a child may have no parent
		for _, row := range c.stored {
			if row.Type() == parents {
				keys[referenceText(rel, row, func(ref *schema.Reference) *schema.Field { return ref.PrimaryKey })] = true
			}
		}
		for name, row := range c.stored {
			key := referenceText(rel, row, func(ref *schema.Reference) *schema.Field { return ref.ForeignKey })
			if row.Type() == children && !keys[key] {
				c.report("%s: no row of %s has the key %s", name, parents.Name(), key)
			}
		}
	}
}

// referenceText returns the key columns of one side of a relation, joined. It returns ""
// for a child of another polymorphic type, and for a child without a parent.
func referenceText(rel *schema.Relationship, row reflect.Value, side func(*schema.Reference) *schema.Field) string {
	var keys []string
	for _, ref := range rel.References {
		field := side(ref)
		switch {
		case field == nil, field.Schema.ModelType != row.Type(): // a constant, or a column of the other side
		case ref.PrimaryValue == "":
			keys = append(keys, text(field, row))
		case text(field, row) != ref.PrimaryValue:
			return ""
		}
	}
	return strings.TrimLeft(strings.Join(keys, ","), ",") // "" if all parts of a key are unset
}

// checkLink compares the foreign keys of structs with the keys of their parents. checkRow has
// compared the foreign keys of the structs with the foreign keys of the rows.
func (c *forestCheck) checkLink(rel *schema.Relationship, owner, related reflect.Value) {
	if rel.Type == schema.Many2Many {
		c.joins[rel.JoinTable.Table][joinKey(rel, owner, related)] = true
		return
	}
	parent, child := owner, related
	if rel.Type == schema.BelongsTo {
		parent, child = related, owner
	}
	if c.stale[addressOf(child)] {
		return
	}
	for _, ref := range rel.References {
		want := ref.PrimaryValue
		if ref.PrimaryKey != nil {
			want = text(ref.PrimaryKey, parent)
		}
		if got := text(ref.ForeignKey, child); got != want {
			c.report("%s: %s = %q, but %s of %s is %q", rowName(child), ref.ForeignKey.Name, got, rel.Name, rowName(owner), want)
		}
	}
}

// joinKey returns the columns of a join row, in the order of their names.
func joinKey(rel *schema.Relationship, owner, related reflect.Value) string {
	values := map[string]any{}
	for _, ref := range rel.References {
		row := related
		if ref.OwnPrimaryKey {
			row = owner
		}
		values[ref.ForeignKey.DBName] = text(ref.PrimaryKey, row)
	}
	return joinText(values)
}

// joinText returns the columns of a join row as text.
func joinText(values map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+" "+plainText(values[name]))
	}
	return strings.Join(parts, ", ")
}

// checkJoins compares the rows of the join tables with the links of the forest.
func (c *forestCheck) checkJoins() error {
	for table, want := range c.joins {
		var rows []map[string]any
		if err := c.db.Session(&gorm.Session{NewDB: true}).Table(table).Find(&rows).Error; err != nil {
			return err
		}
		got := map[string]bool{}
		for _, row := range rows {
			key := joinText(row)
			got[key] = true
			if !want[key] {
				c.report("%s: a row of no struct: %s", table, key)
			}
		}
		for key := range want {
			if !got[key] {
				c.report("%s: no row: %s", table, key)
			}
		}
	}
	return nil
}

// keyOfRow returns the primary key of a row as text.
func keyOfRow(s *schema.Schema, row reflect.Value) string {
	var keys []string
	for _, field := range s.PrimaryFields {
		keys = append(keys, text(field, row))
	}
	return strings.Join(keys, ", ")
}

// text returns a column of a row in a form in which all types of a key agree, and "" for
// an unset column.
func text(field *schema.Field, row reflect.Value) string {
	value, _ := field.ValueOf(context.Background(), row)
	return plainText(value)
}

// plainText returns the text that [text] returns for a value.
func plainText(value any) string {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		panic(err)
	}
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if v == nil || reflect.ValueOf(v).IsZero() {
		return ""
	}
	return fmt.Sprint(v)
}
