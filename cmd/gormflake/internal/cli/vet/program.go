package vet

import (
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// A program is the knowledge of the rules about several packages. It knows their models, and
// how numbers go from place to place. A [place] is a variable, field, parameter or result.
// All keys of a model, such as the keys of Order, are one place, which [model.keys] returns.
type program struct {
	flows
	complete bool // true for the command vet, which loads all packages; false under go vet

	listed     map[string]bool  // the models of gormflake.WithModels, for example "example/shop.Order"
	models     map[place]model  // the models whose key gormflake fills, by the place of their keys
	sortedKeys []place          // the keys of models, by name
	shared     map[place]bool   // key fields of embedded structs, such as ID of gorm.Model, which several models share
	column     map[string]place // the columns of foreign keys, for example "example/shop.Order.user_id", with the keys that they hold

	// returned has, for the place of a function's result, the indexes of the parameters that
	// the function returns as this result. The second call of recordAll reads what the first
	// call has added. So returned is not a part of flows, which learn replaces in between.
	returned map[place][]int

	// fromKey are the places whose numbers come from keys, and intoKey the places whose
	// numbers become keys, each with the place of these keys. fromID and intoID are the
	// same for keys of type types.ID alone.
	fromKey, intoKey map[place]place
	fromID, intoID   map[place]place
}

// keys is the analyzer whose result is the program, which the rules read by [programOf].
// Under go vet, it learns the program from one package alone. The command gormflake vet does
// not run it, but sets the program of all packages as its result.
var keys = &analysis.Analyzer{
	Name:       "keys",
	Doc:        "learn the models with Snowflake keys, and follow the keys through variables",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[*program](),
	Run:        func(pass *analysis.Pass) (any, error) { return learn([]*analysis.Pass{pass}), nil },
}

// learn returns the program of the packages. It finds their models, records how numbers go
// from place to place, and follows these records from the keys of the models.
func learn(packages []*analysis.Pass) *program {
	p := &program{
		flows:    newFlows(),
		listed:   map[string]bool{},
		models:   map[place]model{},
		shared:   map[place]bool{},
		column:   map[string]place{},
		returned: map[place][]int{},
	}
	// findLists needs the assignments to variables that hold a list of models. In this first
	// record, the key of a model is a field like any other. Once the models are known, the
	// assignments are recorded again, with the keys of each model as one place.
	p.recordAll(packages)
	for _, pkg := range packages {
		p.findLists(pkg)
	}
	for _, pkg := range packages {
		p.findModels(pkg)
	}
	p.sortedKeys = slices.SortedFunc(maps.Keys(p.models), byName)
	p.flows = newFlows()
	p.recordAll(packages)
	p.findImplementations(packages)
	for _, pkg := range packages {
		p.findForeignKeys(pkg)
	}
	for _, pkg := range packages {
		p.findQueries(pkg)
	}
	p.followKeys()
	return p
}

// followKeys sets fromKey, intoKey, fromID and intoID. For this it follows p.flows, forward
// and backward, from the keys of models and from values of type types.ID.
func (p *program) followKeys() {
	var allKeys, idKeys []place // idKeys are the keys of type types.ID
	for _, keys := range p.sortedKeys {
		allKeys = append(allKeys, keys)
		if isID(p.models[keys].key.Type()) {
			idKeys = append(idKeys, keys)
		}
	}
	// anyID is last, because reach prefers earlier starts: a number that belongs both to a
	// model and to anyID then belongs to the model, which a report can name.
	allKeys, idKeys = append(allKeys, anyID), append(idKeys, anyID)
	p.fromKey, p.intoKey = reach(p.next, allKeys), reach(p.before, allKeys)
	p.fromID, p.intoID = reach(p.next, idKeys), reach(p.before, idKeys)
}

// byName compares places by their names.
func byName(a, b place) int { return strings.Compare(a.name, b.name) }

// inspectorOf returns the inspector of a package, which finds nodes of its syntax by type.
func inspectorOf(pkg *analysis.Pass) *inspector.Inspector {
	return pkg.ResultOf[inspect.Analyzer].(*inspector.Inspector)
}

// recordAll records the assignments of all packages in p.flows.
func (p *program) recordAll(packages []*analysis.Pass) {
	for _, pkg := range packages {
		p.record(pkg, inspectorOf(pkg))
	}
}

// keys returns the place that stands for all keys of the model. For the model Order, order.ID
// of each order is at this place, and so are the numbers by which queries look for an order.
func (m model) keys() place { return place{name: m.path} }

// prefix returns the import path of the model's package, and a dot.
func (m model) prefix() string { return strings.TrimSuffix(m.path, m.name) }

// modelOf returns the model of a type such as Order, *Order or []Order. ok is true if
// gormflake fills the key of the model, because the key has the tag snowflake:"pk", or because
// gormflake.WithModels lists the model. A listed model does not count if it opts out (see
// optsOut), or if untaggedKey finds no key in it. If ok is false, m has its fields, but no
// key.
func (p *program) modelOf(t types.Type) (m model, ok bool) {
	if t == nil {
		return m, false
	}
	m, hasTag := taggedModel(t)
	if !hasTag && p.listed[m.path] && !optsOut(element(t), 0) {
		m.key = untaggedKey(m.fields)
	}
	return m, m.key != nil
}

// optsOut reports whether a field of t, or of a struct that t embeds, has the tag
// snowflake:"-". The database then assigns the key, although a list names the model. depth
// is the number of structs in which t is embedded.
func optsOut(t types.Type, depth int) bool {
	s, ok := derefType(t).Underlying().(*types.Struct)
	if !ok || depth > maxDepth { // a struct that embeds a pointer to itself would never end
		return false
	}
	for i := range s.NumFields() {
		if reflect.StructTag(s.Tag(i)).Get("snowflake") == "-" || s.Field(i).Embedded() && optsOut(s.Field(i).Type(), depth+1) {
			return true
		}
	}
	return false
}

// untaggedKey returns the key that gormflake.WithModels fills in a model with these fields.
// It is the primary key by GORM's rules: the field with the setting primaryKey, or else the
// field ID. The result is nil if the primary key has several fields, or is not a number.
func untaggedKey(fields []field) *types.Var {
	var keys []field // the fields of the primary key
	for _, f := range fields {
		_, primary := f.setting("primaryKey")
		_, oldSpelling := f.setting("primary_key")
		if primary || oldSpelling {
			keys = append(keys, f)
		}
	}
	if len(keys) == 0 {
		i := slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.Name(), "id") })
		if i < 0 {
			return nil
		}
		keys = fields[i : i+1]
	}
	if len(keys) != 1 || !holdsNumber(keys[0].Type()) {
		return nil
	}
	return keys[0].Var
}

// findModels adds the models that a package declares, and the models of the packages that it
// imports, because these packages may not have been loaded themselves.
func (p *program) findModels(pkg *analysis.Pass) {
	for spec := range inspector.All[*ast.TypeSpec](inspectorOf(pkg)) {
		p.addModel(pkg.TypesInfo.Defs[spec.Name])
	}
	for _, imported := range pkg.Pkg.Imports() {
		for _, name := range imported.Scope().Names() {
			p.addModel(imported.Scope().Lookup(name))
		}
	}
}

// addModel adds the model that an object declares to p.models. It returns without change if
// the object is not a type, or not a model whose key gormflake fills. If the model has its
// key from an embedded struct, such as gorm.Model, addModel also adds the field to p.shared,
// because other structs embed the same field.
func (p *program) addModel(object types.Object) {
	named, ok := object.(*types.TypeName)
	if !ok {
		return
	}
	m, ok := p.modelOf(named.Type())
	if !ok {
		return
	}
	p.models[m.keys()] = m
	if s, ok := named.Type().Underlying().(*types.Struct); ok && !declares(s, m.key) {
		p.shared[placeOf(m.key)] = true
	}
}

// declares reports whether a struct itself, without its embedded structs, has the field.
func declares(s *types.Struct, field *types.Var) bool {
	for f := range s.Fields() {
		if f.Origin() == field.Origin() { // the same field in each instance of a generic struct
			return true
		}
	}
	return false
}

// findForeignKeys records the fields that hold keys of another model, for the models that a
// package declares. It finds them by the relations of a model, as GORM does, and by names such
// as OrderID.
func (p *program) findForeignKeys(pkg *analysis.Pass) {
	for spec := range inspector.All[*ast.TypeSpec](inspectorOf(pkg)) {
		named, ok := pkg.TypesInfo.Defs[spec.Name].(*types.TypeName)
		if !ok || spec.TypeParams != nil { // a generic type has no relations yet
			continue
		}
		m, _ := p.modelOf(named.Type())
		for _, relation := range m.fields {
			if parent, foreign, ok := p.foreignKeyOf(m, relation); ok {
				owner := m // the model that has the foreign key, which is m or the model of the relation
				if _, inM := m.field(foreign.Name()); !inM {
					owner, _ = p.modelOf(relation.Type())
				}
				p.addForeignKey(owner, foreign, parent)
			}
		}
		if m.key == nil { // in other structs, a name such as OrderID does not make a foreign key
			continue
		}
		for _, f := range m.fields {
			// The key of m may have such a name too, but its numbers are keys of m.
			if parent, ok := p.modelOfName(m, f.Name()); ok && f.Var != m.key {
				p.addForeignKey(m, f, parent)
			}
		}
	}
}

// addForeignKey records that the field f of the owner, and the column of this field, hold keys
// of the parent. It connects the field and the keys of the parent in both directions, because
// a number that is read from the field was a key of the parent, and a number that is assigned
// to the field becomes a key of the parent.
func (p *program) addForeignKey(owner model, f field, parent model) {
	if !holdsNumber(f.Type()) {
		return
	}
	p.connect(parent.keys(), placeOf(f.Var))
	p.connect(placeOf(f.Var), parent.keys())
	column, ok := f.setting("column")
	if !ok {
		column = columnName(f.Name())
	}
	p.column[owner.path+"."+column] = parent.keys()
}

// modelOfName returns the model to which a field of the owner refers by its name, as OrderID
// refers to Order. If several models have the name, it prefers the model of the owner's
// package, and otherwise returns the first of them by import path.
func (p *program) modelOfName(owner model, field string) (found model, ok bool) {
	for _, keys := range p.sortedKeys {
		m := p.models[keys]
		if !strings.EqualFold(field, m.name+m.key.Name()) {
			continue
		}
		if m.prefix() == owner.prefix() {
			return m, true
		}
		if !ok {
			found, ok = m, true
		}
	}
	return found, ok
}

// describe returns the words for keys in a report, for example "a key of Order". For anyID,
// which has no model, they are "an ID".
func (p *program) describe(keys place) string {
	if m, ok := p.models[keys]; ok {
		return "a key of " + m.name
	}
	return "an ID"
}

// keysOf returns the keys to which the number of an expression belongs. Either the number was
// such a key before, as in id := order.ID, or it becomes a key, as in db.First(&order, id).
//
// For the result of a function, only the first case counts, because all calls of the function
// share one place. If one caller of c.GetInt uses the result as a key, the result that another
// caller gets need not be a key.
func (p *program) keysOf(v value) (keys place, ok bool) {
	for _, at := range p.places(v) {
		if keys, ok = p.fromKey[at]; ok {
			return keys, true
		}
		if keys, ok = p.intoKey[at]; ok && !p.results[at] {
			return keys, true
		}
	}
	return place{}, false
}
