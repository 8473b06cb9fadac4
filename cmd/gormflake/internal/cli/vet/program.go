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

// A program is the knowledge of the rules about several packages.
type program struct {
	flows
	complete bool // whether it has all packages of the program

	listed map[string]bool  // the models of gormflake.WithModels, as path.Name
	models map[place]model  // the models with a key that gormflake fills, by [model.keys]
	sorted []place          // the keys of models, by name
	shared map[place]bool   // fields of embedded structs that are the key of a model
	column map[string]place // the columns of foreign keys, as path.Name.column, with the keys that they hold

	// returned has the parameters that a function returns as a result. The first recording
	// fills it, and the second one reads it, so it is not a part of flows.
	returned map[place][]int

	fromKey, intoKey map[place]place // places whose numbers come from keys, or become keys
	fromID, intoID   map[place]place // the same for keys of type types.ID alone
}

// keys learns the program from a package alone, as go vet has it. The command gormflake
// vet puts the program of all packages in its place.
var keys = &analysis.Analyzer{
	Name:       "keys",
	Doc:        "learn the models with Snowflake keys, and follow the keys through variables",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[*program](),
	Run:        func(pass *analysis.Pass) (any, error) { return learn([]*analysis.Pass{pass}), nil },
}

// learn returns the program of the packages.
func learn(packages []*analysis.Pass) *program {
	p := &program{
		flows:    newFlows(),
		listed:   map[string]bool{},
		models:   map[place]model{},
		shared:   map[place]bool{},
		column:   map[string]place{},
		returned: map[place][]int{},
	}
	// The first recording finds the lists, and the second one finds the keys of the models
	// in them.
	p.recordAll(packages)
	for _, pkg := range packages {
		p.findLists(pkg)
	}
	for _, pkg := range packages {
		p.findModels(pkg)
	}
	p.sorted = slices.SortedFunc(maps.Keys(p.models), byName)
	p.flows = newFlows()
	p.recordAll(packages)
	p.findImplementations(packages)
	for _, pkg := range packages {
		p.findForeignKeys(pkg)
	}
	for _, pkg := range packages {
		p.findQueries(pkg)
	}
	// A place reached from both a model and anyID belongs to the model, which comes first.
	var all, ids []place
	for _, at := range p.sorted {
		all = append(all, at)
		if isID(p.models[at].key.Type()) {
			ids = append(ids, at)
		}
	}
	all, ids = append(all, anyID), append(ids, anyID)
	p.fromKey, p.intoKey = reach(p.next, all), reach(p.before, all)
	p.fromID, p.intoID = reach(p.next, ids), reach(p.before, ids)
	return p
}

// byName compares places by their names.
func byName(a, b place) int { return strings.Compare(a.name, b.name) }

// inspectorOf returns the inspector of a package.
func inspectorOf(pkg *analysis.Pass) *inspector.Inspector {
	return pkg.ResultOf[inspect.Analyzer].(*inspector.Inspector)
}

// recordAll records the assignments of the packages.
func (p *program) recordAll(packages []*analysis.Pass) {
	for _, pkg := range packages {
		p.record(pkg, inspectorOf(pkg))
	}
}

// keys returns the place of the keys of a model.
func (m model) keys() place { return place{name: m.path} }

// prefix returns the part of the path before the name, which models of a package share.
func (m model) prefix() string { return strings.TrimSuffix(m.path, m.name) }

// modelOf returns t, or the type to which t points, as a model. ok is false if gormflake
// does not fill its key, because the key has no tag and no list names the model.
func (p *program) modelOf(t types.Type) (m model, ok bool) {
	if t == nil {
		return m, false
	}
	m, ok = modelOf(t)
	if !ok && p.listed[m.path] && !leavesOut(element(t), 0) {
		m.key = untaggedKey(m.fields)
	}
	return m, m.key != nil
}

// leavesOut reports whether a field or embedded struct of a listed model has the tag
// snowflake:"-", by which the database keeps assigning the key.
func leavesOut(t types.Type, depth int) bool {
	s, ok := derefType(t).Underlying().(*types.Struct)
	if !ok || depth > maxDepth { // a struct may embed a pointer to itself
		return false
	}
	for i := range s.NumFields() {
		if reflect.StructTag(s.Tag(i)).Get("snowflake") == "-" || s.Field(i).Embedded() && leavesOut(s.Field(i).Type(), depth+1) {
			return true
		}
	}
	return false
}

// untaggedKey returns the key that gormflake.WithModels fills, or nil.
func untaggedKey(fields []field) *types.Var {
	var keys []field
	for _, f := range fields {
		_, primary := f.setting("primaryKey")
		_, older := f.setting("primary_key")
		if primary || older {
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

// findModels adds the models that a package declares or imports.
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

// addModel adds a type, if it is a model.
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
		if f.Origin() == field.Origin() {
			return true
		}
	}
	return false
}

// findForeignKeys records the foreign keys of the models that a package declares. They
// hold the keys of another model.
func (p *program) findForeignKeys(pkg *analysis.Pass) {
	for spec := range inspector.All[*ast.TypeSpec](inspectorOf(pkg)) {
		named, ok := pkg.TypesInfo.Defs[spec.Name].(*types.TypeName)
		if !ok || spec.TypeParams != nil {
			continue
		}
		m, _ := p.modelOf(named.Type())
		for _, relation := range m.fields {
			if to, foreign, ok := p.foreignKey(m, relation); ok {
				owner := m
				if _, own := m.field(foreign.Name()); !own {
					owner, _ = p.modelOf(relation.Type())
				}
				p.addForeignKey(owner, foreign, to)
			}
		}
		if m.key == nil {
			continue
		}
		for _, f := range m.fields {
			if to, ok := p.named(m, f.Name()); ok && f.Var != m.key {
				p.addForeignKey(m, f, to)
			}
		}
	}
}

// addForeignKey records that a field of a struct, and the column of the field, hold keys
// of a model.
func (p *program) addForeignKey(owner model, f field, to model) {
	if !holdsNumber(f.Type()) {
		return
	}
	p.connect(to.keys(), placeOf(f.Var))
	p.connect(placeOf(f.Var), to.keys())
	column, ok := f.setting("column")
	if !ok {
		column = columnName(f.Name())
	}
	p.column[owner.path+"."+column] = to.keys()
}

// named returns the model to which a field of the owner refers by its name, as OrderID
// refers to Order. If several models have the name, it prefers the owner's package.
func (p *program) named(owner model, field string) (to model, ok bool) {
	for _, at := range p.sorted {
		m := p.models[at]
		if !strings.EqualFold(field, m.name+m.key.Name()) {
			continue
		}
		if m.prefix() == owner.prefix() {
			return m, true
		}
		if !ok {
			to, ok = m, true
		}
	}
	return to, ok
}

// name returns the name of the model whose keys are at a place.
func (p *program) name(keys place) string {
	if m, ok := p.models[keys]; ok {
		return "a key of " + m.name
	}
	return "an ID"
}

// source returns the keys from which the number of an expression comes, or that it
// becomes. It ignores that another caller of a function makes a key of the result, because
// a getter such as c.GetInt returns many kinds of numbers.
func (p *program) source(v value) (keys place, ok bool) {
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
