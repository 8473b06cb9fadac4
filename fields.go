package gormflake

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

// model is what the plugin knows about one parsed schema.
type model struct {
	columns []*column
	groups  []*group // columns by generator
	err     error    // all mistakes in the tags, joined

	linked bool // some group has links
}

// linkedBy is that of its groups.
func (m *model) linkedBy(rel *schema.Relationship) bool {
	return slices.ContainsFunc(m.groups, func(g *group) bool { return g.linkedBy(rel) })
}

// model returns the cached view of s. The schema itself is shared by all
// goroutines of the program and is only read.
func (p *Plugin) model(s *schema.Schema) *model {
	if m, ok := p.models.Load(s); ok {
		return m.(*model)
	}
	m, _ := p.models.LoadOrStore(s, p.parse(s))
	return m.(*model)
}

// columns returns the tagged columns of s, or an error that names every tag
// that cannot work.
func (p *Plugin) columns(s *schema.Schema) ([]*column, error) {
	m := p.model(s)
	return m.columns, m.err
}

func (p *Plugin) parse(s *schema.Schema) *model {
	if isJoinTable(s) {
		return &model{}
	}
	m := &model{}
	var errs []error
	seen := map[string]bool{}
	for _, f := range s.Fields {
		text, ok := f.Tag.Lookup(tagKey)
		if !ok {
			continue
		}
		seen[f.BindName()] = true
		c, err := p.column(s, f, text)
		switch {
		case err != nil:
			errs = append(errs, tagError(s, f.BindName(), text, err))
		case c != nil:
			m.columns = append(m.columns, c)
		}
	}
	errs = append(errs, strayTags(s, s.ModelType, nil, seen)...)
	errs = append(errs, lossyReferences(s)...)
	if m.err = errors.Join(errs...); m.err != nil {
		return &model{err: m.err}
	}
	m.groups = groupsOf(s, m.columns)
	m.linked = slices.ContainsFunc(s.Relationships.BelongsTo, m.linkedBy)
	return m
}

// isJoinTable tells a join table whose struct GORM made up: that one carries
// copies of the tags of the joined models, on fields that are foreign keys.
func isJoinTable(s *schema.Schema) bool {
	return s.ModelType.Name() == "" && s.Name != ""
}

func tagError(s *schema.Schema, field, text string, err error) error {
	return fmt.Errorf("gormflake: model %s, field %s, tag %s:%q: %w", s.Name, field, tagKey, text, err)
}

// column returns nil where another tagged field took the field's place.
func (p *Plugin) column(s *schema.Schema, f *schema.Field, text string) (*column, error) {
	t, err := parseTag(text)
	if err != nil {
		return nil, err
	}
	if winner := s.FieldsByDBName[f.DBName]; f.DBName != "" && winner != f {
		if _, tagged := winner.Tag.Lookup(tagKey); tagged {
			return nil, nil
		}
		return nil, fmt.Errorf("column %s belongs to field %s, which shadows this one: tag that field, or give one of them another column", f.DBName, winner.BindName())
	}
	if err := writable(f, t); err != nil {
		return nil, err
	}
	c := &column{field: f, gen: t.gen, primary: t.primary, path: f.StructField.Index}
	if c.kind, err = kindFor(t, f.FieldType); err != nil {
		return nil, err
	}
	if c.source, err = p.generator(t.gen); err != nil {
		return nil, err
	}
	if t.serial == "" {
		return c, nil
	}
	return c, c.numbered(t.serial)
}

func kindFor(t tag, field reflect.Type) (kind, error) {
	if t.serial != "" {
		return serialKindOf(field)
	}
	return kindOf(field)
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
		return errors.New(`the field is no primary key: add gorm:"primaryKey" or tag it snowflake:"id"`)
	case !t.primary && f.PrimaryKey && t.serial == "":
		return errors.New(`the field is a primary key: tag it snowflake:"pk"`)
	}
	return nil
}

// strayTags finds tags where GORM sees no field: on unexported fields and on
// embedded structs.
func strayTags(s *schema.Schema, t reflect.Type, path []string, seen map[string]bool) []error {
	var errs []error
	for i := range t.NumField() {
		f := t.Field(i)
		at := slices.Concat(path, []string{f.Name})
		name := strings.Join(at, ".")
		if text, ok := f.Tag.Lookup(tagKey); ok && !seen[name] {
			errs = append(errs, tagError(s, name, text,
				errors.New("GORM has no column for it: tag an exported field that is a column")))
		}
		if inner := embedded(f); inner != nil && len(at) < 16 {
			errs = append(errs, strayTags(s, inner, at, seen)...)
		}
	}
	return errs
}

// embedded returns the struct type that f embeds, nil if it embeds none.
func embedded(f reflect.StructField) reflect.Type {
	_, tagged := schema.ParseTagSetting(f.Tag.Get("gorm"), ";")["EMBEDDED"]
	if !tagged && !f.Anonymous {
		return nil
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
