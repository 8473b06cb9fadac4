package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// A place is a variable, parameter, result or field in which a program keeps a number, or
// the value of an expression. It is identified by its declaration or position, because a
// package and its test variant have different objects for the same declaration. The kind
// distinguishes the variables of the clauses of a type switch, which have one position.
// The keys of a model are one place without a position.
type place struct {
	pos  token.Pos
	name string
	kind types.BasicKind
}

// anyID is the place of all values of type types.ID, because the type shows that they are
// keys.
var anyID = place{name: "types.ID"}

// placeOf returns the place of a variable or field.
func placeOf(v *types.Var) place {
	v = v.Origin()
	return place{v.Pos(), v.Name(), basicKind(v.Type())}
}

// valueAt returns the place of the value of an expression. It is the end, because the
// calls of a chain begin at the same position.
func valueAt(e ast.Expr) place { return place{pos: e.End(), name: "value"} }

// A value is an expression that is assigned to a place, in the package that has it. The
// result is the index of the result if the expression is a call with several results.
type value struct {
	pkg    *analysis.Pass
	expr   ast.Expr
	result int
	query  bool // whether the place is the keys of a model, of which a query looks for one
}

// flows records the assignments of the packages, which assignments, declarations, calls,
// return statements, composite literals and range statements make. It looks at each
// assignment alone, not at the order in which they happen.
type flows struct {
	values map[place][]value
	next   map[place][]place // the places to which a number goes
	before map[place][]place // the places from which a number comes

	results map[place]bool // the results of functions, which all callers share
}

// newFlows returns flows without an assignment.
func newFlows() flows {
	return flows{map[place][]value{}, map[place][]place{}, map[place][]place{}, map[place]bool{}}
}

// assign records that a value is assigned to a place.
func (p *program) assign(to place, t types.Type, v value) {
	p.values[to] = append(p.values[to], v)
	if !holdsNumber(t) {
		return
	}
	for _, from := range p.places(v) {
		p.connect(from, to)
	}
	if isID(element(t)) {
		p.connect(to, anyID)
	}
}

// connect records that a number goes from a place to another.
func (p *program) connect(from, to place) {
	if from != to {
		p.next[from] = append(p.next[from], to)
		p.before[to] = append(p.before[to], from)
	}
}

// holdsNumber reports whether a value of the type is a number, or holds numbers of one
// type, as []int and map[string]int do.
func holdsNumber(t types.Type) bool {
	for range maxDepth {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			return u.Info()&types.IsNumeric != 0
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Map:
			t = u.Elem()
		default:
			return false
		}
	}
	return false
}

// assignTo records that a value is assigned to the variable, field or element that an
// expression names.
func (p *program) assignTo(to ast.Expr, v value) {
	t := v.pkg.TypesInfo.TypeOf(to)
	if t == nil {
		return // the blank identifier
	}
	for _, at := range p.places(value{pkg: v.pkg, expr: to}) {
		if at != anyID {
			p.assign(at, t, v)
		}
	}
}

// places returns the places from which an expression takes its value. Computed values,
// such as a+b, come from no place.
func (p *program) places(v value) []place {
	info := v.pkg.TypesInfo
	if t := info.TypeOf(v.expr); t != nil && isID(t) {
		return append(p.parts(v), anyID)
	}
	return p.parts(v)
}

// parts is places without regard to the type of the expression.
func (p *program) parts(v value) []place {
	info := v.pkg.TypesInfo
	switch e := v.expr.(type) {
	case *ast.ParenExpr:
		return p.places(v.with(e.X))
	case *ast.StarExpr:
		return p.places(v.with(e.X))
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return p.places(v.with(e.X))
		}
	case *ast.SliceExpr:
		return p.places(v.with(e.X))
	case *ast.IndexExpr:
		return p.places(v.with(e.X))
	case *ast.Ident:
		if variable, ok := info.ObjectOf(e).(*types.Var); ok {
			return []place{placeOf(variable)}
		}
	case *ast.SelectorExpr:
		return p.selected(info, e)
	case *ast.TypeAssertExpr:
		return []place{valueAt(e)}
	case *ast.CompositeLit:
		return p.elements(v, e)
	case *ast.CallExpr:
		return p.called(v, e)
	}
	return nil
}

// with returns another expression of the same package.
func (v value) with(e ast.Expr) value { return value{pkg: v.pkg, expr: e} }

// selected returns the place of a field or of a variable of a package. The key of a model
// is often the field of an embedded struct, such as gorm.Model, that other structs embed
// too, so this field alone is no place.
func (p *program) selected(info *types.Info, e *ast.SelectorExpr) []place {
	variable, ok := info.ObjectOf(e.Sel).(*types.Var)
	if !ok {
		return nil
	}
	for x := ast.Expr(e); ; {
		selector, ok := ast.Unparen(x).(*ast.SelectorExpr)
		if !ok || info.Selections[selector] == nil {
			break
		}
		if m, ok := p.modelOf(info.TypeOf(selector.X)); ok && m.key.Origin() == variable.Origin() {
			return []place{m.keys()}
		}
		x = selector.X
	}
	if p.shared[placeOf(variable)] {
		return nil
	}
	return []place{placeOf(variable)}
}

// elements returns the places of the elements of a slice, array or map of numbers.
func (p *program) elements(v value, lit *ast.CompositeLit) (all []place) {
	if !holdsNumber(v.pkg.TypesInfo.TypeOf(lit)) {
		return nil
	}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		all = append(all, p.places(v.with(e))...)
	}
	return all
}

// called returns the places from which the result of a call or conversion comes. It records
// the result of the function, which all callers share, in p.results.
func (p *program) called(v value, call *ast.CallExpr) (all []place) {
	if conversionType(v.pkg, call) != nil {
		return p.places(v.with(call.Args[0]))
	}
	if keepsArguments(v.pkg.TypesInfo, call) {
		for _, arg := range call.Args {
			all = append(all, p.places(v.with(arg))...)
		}
		return all
	}
	f := callee(v.pkg, call)
	if f == nil {
		return nil
	}
	if method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f.Name() == "Int64" && isID(v.pkg.TypesInfo.TypeOf(method.X)) {
		return p.places(v.with(method.X))
	}
	if v.result == 0 {
		all = append(all, valueAt(call))
	}
	results := f.Origin().Signature().Results()
	if v.result >= results.Len() || !holdsNumber(results.At(v.result).Type()) {
		return all
	}
	result := placeOf(results.At(v.result))
	for _, i := range p.returned[result] {
		if i < len(call.Args) {
			all = append(all, p.places(v.with(call.Args[i]))...)
		}
	}
	p.results[result] = true
	return append(all, result)
}

// keepsArguments reports whether a call returns its arguments, as append, min and max do.
func keepsArguments(info *types.Info, call *ast.CallExpr) bool {
	name, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	if _, builtin := info.Uses[name].(*types.Builtin); !builtin {
		return false
	}
	return name.Name == "append" || name.Name == "min" || name.Name == "max"
}

// record records the assignments of a package.
func (p *program) record(pkg *analysis.Pass, in *inspector.Inspector) {
	for cursor := range in.Root().Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.RangeStmt)(nil),
		(*ast.ReturnStmt)(nil), (*ast.CompositeLit)(nil), (*ast.CallExpr)(nil)) {
		switch node := cursor.Node().(type) {
		case *ast.AssignStmt:
			p.recordAssignment(pkg, node.Lhs, node.Rhs)
		case *ast.ValueSpec:
			var names []ast.Expr
			for _, name := range node.Names {
				names = append(names, name)
			}
			p.recordAssignment(pkg, names, node.Values)
		case *ast.RangeStmt:
			if node.Value != nil {
				p.assignTo(node.Value, value{pkg: pkg, expr: node.X})
			}
		case *ast.ReturnStmt:
			p.recordReturn(pkg, cursor, node)
		case *ast.CompositeLit:
			p.recordFields(pkg, node)
		case *ast.CallExpr:
			p.recordArguments(pkg, node)
		}
	}
}

// recordAssignment records an assignment of values, or of the results of one call.
func (p *program) recordAssignment(pkg *analysis.Pass, to, from []ast.Expr) {
	for i := range to {
		switch {
		case len(from) == len(to):
			p.assignTo(to[i], value{pkg: pkg, expr: from[i]})
		case len(from) == 1:
			p.assignTo(to[i], value{pkg: pkg, expr: from[0], result: i})
		}
	}
}

// recordReturn records that a return statement assigns to the results of its function.
func (p *program) recordReturn(pkg *analysis.Pass, cursor inspector.Cursor, node *ast.ReturnStmt) {
	for enclosing := range cursor.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		decl, ok := enclosing.Node().(*ast.FuncDecl)
		if !ok {
			return // a call of a function value is not followed
		}
		f, ok := pkg.TypesInfo.Defs[decl.Name].(*types.Func)
		if !ok {
			return
		}
		results := f.Signature().Results()
		for i := range results.Len() {
			v := value{pkg: pkg, expr: nil, result: i}
			switch {
			case len(node.Results) == results.Len():
				v.expr, v.result = node.Results[i], 0
			case len(node.Results) == 1:
				v.expr = node.Results[0]
			default:
				return // the results have names
			}
			p.recordResult(f, results.At(i), v)
		}
		return
	}
}

// recordResult records that a function returns a value as a result. A parameter
// that it returns goes to the result of each call alone, by [program.called], because
// other callers have other arguments.
func (p *program) recordResult(f *types.Func, result *types.Var, v value) {
	to := placeOf(result)
	p.values[to] = append(p.values[to], v)
	if !holdsNumber(result.Type()) {
		return
	}
	if isID(element(result.Type())) {
		p.connect(to, anyID)
	}
	for _, from := range p.places(v) {
		if i := paramIndex(f, from); i >= 0 {
			p.returned[to] = append(p.returned[to], i)
		} else {
			p.connect(from, to)
		}
	}
}

// paramIndex returns the index of the parameter that is a place, or -1.
func paramIndex(f *types.Func, at place) int {
	params := f.Signature().Params()
	for i := range params.Len() {
		if placeOf(params.At(i)) == at {
			return i
		}
	}
	return -1
}

// recordFields records that a composite literal assigns to the fields of a struct.
func (p *program) recordFields(pkg *analysis.Pass, lit *ast.CompositeLit) {
	m, isModel := p.modelOf(pkg.TypesInfo.TypeOf(lit))
	if isModel {
		if key := keyOfLiteral(pkg.TypesInfo, lit, m.key); key != nil {
			p.assign(m.keys(), m.key.Type(), value{pkg: pkg, expr: key})
		}
	}
	for field, e := range fieldValues(pkg.TypesInfo, lit) {
		if !p.shared[placeOf(field)] && (!isModel || field.Origin() != m.key.Origin()) {
			p.assign(placeOf(field), field.Type(), value{pkg: pkg, expr: e})
		}
	}
}

// fieldValues yields the fields that the composite literal of a struct sets, with their
// values. Other literals have no fields.
func fieldValues(info *types.Info, lit *ast.CompositeLit) iter.Seq2[*types.Var, ast.Expr] {
	return func(yield func(*types.Var, ast.Expr) bool) {
		s, ok := derefType(info.TypeOf(lit)).Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i, e := range lit.Elts {
			var field *types.Var
			if pair, ok := e.(*ast.KeyValueExpr); !ok {
				field = s.Field(i)
			} else if name, ok := pair.Key.(*ast.Ident); ok {
				field, _ = info.ObjectOf(name).(*types.Var)
				e = pair.Value
			}
			if field != nil && !yield(field, e) {
				return
			}
		}
	}
}

// keyOfLiteral returns the value of a key in a composite literal, also if it is in the
// literal of an embedded struct, or nil.
func keyOfLiteral(info *types.Info, lit *ast.CompositeLit, key *types.Var) ast.Expr {
	for field, e := range fieldValues(info, lit) {
		if field.Origin() == key.Origin() {
			return e
		}
		if inner, ok := ast.Unparen(e).(*ast.CompositeLit); ok && field.Embedded() {
			if value := keyOfLiteral(info, inner, key); value != nil {
				return value
			}
		}
	}
	return nil
}

// recordArguments records that a call assigns to the parameters of the function. A
// conversion to a types.ID makes a key of its argument.
func (p *program) recordArguments(pkg *analysis.Pass, call *ast.CallExpr) {
	if to := conversionType(pkg, call); to != nil {
		if isID(to) {
			p.use(value{pkg: pkg, expr: call.Args[0]}, anyID)
		}
		return
	}
	f := callee(pkg, call)
	if f == nil {
		return
	}
	params := f.Origin().Signature().Params()
	for i, arg := range call.Args {
		if _, several := pkg.TypesInfo.TypeOf(arg).(*types.Tuple); several || params.Len() == 0 {
			return // the arguments are the results of another call
		}
		param := params.At(min(i, params.Len()-1))
		p.assign(placeOf(param), param.Type(), value{pkg: pkg, expr: arg})
	}
}

// use records that a value is used as the keys of a place.
func (p *program) use(v value, keys place) {
	v.query = true
	p.values[keys] = append(p.values[keys], v)
	for _, from := range p.places(v) {
		p.connect(from, keys)
	}
}

// reach returns the places that can be reached from the places in start, each with the
// first of these that reaches it.
func reach(edges map[place][]place, start []place) map[place]place {
	reached := map[place]place{}
	for _, s := range start {
		reached[s] = s // a start belongs to itself, even if another start reaches it
	}
	for _, s := range start {
		for queue := []place{s}; len(queue) > 0; queue = queue[1:] {
			for _, to := range edges[queue[0]] {
				if _, seen := reached[to]; !seen {
					reached[to] = s
					queue = append(queue, to)
				}
			}
		}
	}
	return reached
}

// derefType returns the type to which a pointer points, or t.
func derefType(t types.Type) types.Type {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}
