package model

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

const (
	tagKey  = "snowflake"
	leftOut = "-" // the tag that excludes a model from gormflake.WithModels
)

// tag is the parsed text of a struct tag such as `snowflake:"pk,gen=orders"`.
type tag struct {
	primary bool   // the role is pk
	serial  string // the code of a serial number, as in serial=PAY; "" for a key
	gen     string // the name of the generator, as in gen=orders; "" for the default generator
}

// parseTag parses the text of a tag, which is a role, such as pk, and options after
// commas, such as gen=orders.
func parseTag(text string) (t tag, err error) {
	words := strings.Split(text, ",")
	err = t.parseRole(words[0])
	for i := 1; err == nil && i < len(words); i++ {
		err = t.parseOption(words[i])
	}
	return t, err
}

// parseRole parses the first word of a tag, which is pk, id or serial=CODE.
func (t *tag) parseRole(text string) error {
	code, isSerial := strings.CutPrefix(text, "serial=")
	switch {
	case text == "pk":
		t.primary = true
	case text == "id": // neither a primary key nor a serial number, as in the zero tag
	case isSerial && code == "":
		return errors.New("serial= names no code: want serial=CODE")
	case isSerial:
		t.serial = code
	default:
		return fmt.Errorf("unknown word %q: want pk for a primary key, id for any other column, serial=CODE for a serial number", text)
	}
	return nil
}

// parseOption parses a later word of a tag, which can only be gen=NAME.
func (t *tag) parseOption(text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case name != "gen":
		return fmt.Errorf("unknown word %q: want gen=name", text)
	case value == "":
		return errors.New("gen= names no generator: want gen=name")
	case t.gen != "":
		return errors.New("gen= is given twice")
	}
	t.gen = value
	return nil
}

// IsTagged reports whether the plugin sets the field, because it has a snowflake tag other
// than snowflake:"-".
func IsTagged(f *schema.Field) bool {
	text, ok := f.Tag.Lookup(tagKey)
	return ok && text != leftOut
}

// leavesOut reports whether a field of t, or of a struct that it embeds, has the tag
// snowflake:"-", which excludes the model from gormflake.WithModels.
func leavesOut(t reflect.Type) bool {
	found := false
	eachTag(t, nil, func(_, text string) { found = found || text == leftOut })
	return found
}

// eachTag calls visit for each tag in t and in the structs that it embeds, with the text
// of the tag and the name of its field, such as Base.ID. path contains the names of the
// fields that lead to t, and is nil for the model's own struct.
func eachTag(t reflect.Type, path []string, visit func(name, text string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := slices.Concat(path, []string{f.Name})
		if text, ok := f.Tag.Lookup(tagKey); ok {
			visit(strings.Join(at, "."), text)
		}
		const maxDepth = 16 // ends the recursion if a struct embeds a pointer to itself
		if inner := embedded(f); inner != nil && len(at) < maxDepth {
			eachTag(inner, at, visit)
		}
	}
}

// embedded returns the struct type of f if f is anonymous or tagged gorm:"embedded", and
// otherwise nil.
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
