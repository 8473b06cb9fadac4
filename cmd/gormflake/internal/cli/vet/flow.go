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
// the value of an expression. All keys of a model are one place too, see [model.keys].
//
// A variable is identified by its position and name instead of its types.Var, because a
// package and its test variant have different objects for the same declaration.
type place struct {
	pos  token.Pos // zero for the keys of a model
	name string
	kind types.BasicKind // distinguishes the variables of a type switch, which have one position in all clauses
}

// anyID is the place of all values of type types.ID. Their type shows that they are keys,
// but not of which model.
var anyID = place{name: "types.ID"}

// placeOf returns the place of a variable, parameter, result or field.
func placeOf(v *types.Var) place {
	v = v.Origin() // the same in each instance of a generic type or function
	return place{v.Pos(), v.Name(), basicKind(v.Type())}
}

// valueAt returns the place of the value of an expression, for example of a call. The place
// is at the end of the expression, because the calls of a chain such as
// c.Query("id").Int() begin at the same position.
func valueAt(e ast.Expr) place { return place{pos: e.End(), name: "value"} }

// A value is an expression whose value goes to a place.
type value struct {
	pkg    *analysis.Pass // the package that contains the expression
	expr   ast.Expr
	result int // if the expression is a call with several results, the index of the result

	// query is true if the value is an argument for a key in a query of GORM, or is
	// converted to a types.ID. It is false if the program assigns the value to the place.
	query bool
}

// flows records how numbers go from place to place, by assignments, declarations, calls,
// return statements, composite literals and range statements. It ignores the order in which
// the program executes them.
type flows struct {
	values map[place][]value // the values that go to a place
	next   map[place][]place // for each place, the places to which its numbers go
	before map[place][]place // for each place, the places from which its numbers come

	results map[place]bool // the results of functions, which all callers share
}

// newFlows returns flows without an assignment.
func newFlows() flows {
	return flows{map[place][]value{}, map[place][]place{}, map[place][]place{}, map[place]bool{}}
}

// assign records that a value is assigned to a place, which has the type t.
func (p *program) assign(to place, t types.Type, v value) {
	p.values[to] = append(p.values[to], v)
	if !holdsNumber(t) {
		return
	}
	for _, from := range p.places(v) {
		p.connect(from, to)
	}
	if isID(element(t)) { // a number that is assigned to a types.ID becomes a key
		p.connect(to, anyID)
	}
}

// connect records that numbers go from one place to another. It ignores an assignment of a
// place to itself.
func (p *program) connect(from, to place) {
	if from != to {
		p.next[from] = append(p.next[from], to)
		p.before[to] = append(p.before[to], from)
	}
}

// holdsNumber reports whether a value of the type is a number, or holds numbers of one
// type, as []int and map[string]int do.
func holdsNumber(t types.Type) bool {
	for range maxDepth { // a type such as type Tree []Tree would never end
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
		if at != anyID { // places adds anyID for a types.ID, but the value goes to a single variable
			p.assign(at, t, v)
		}
	}
}

// places returns the places from which an expression takes its value, for example the
// variable id for int64(id), and also anyID if the type of the expression is types.ID. It
// returns no place for a computed value such as a+b.
func (p *program) places(v value) []place {
	info := v.pkg.TypesInfo
	if t := info.TypeOf(v.expr); t != nil && isID(t) {
		return append(p.placesBySyntax(v), anyID)
	}
	return p.placesBySyntax(v)
}

// placesBySyntax returns the places from which an expression takes its value, as its syntax
// shows them. For x[i] it returns the places of x, because all elements of a list count as one
// place. It does not add anyID for the type of the expression itself. But for int64(id) it
// returns the places of the operand id, which include anyID if id is a types.ID.
func (p *program) placesBySyntax(v value) []place {
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
		return p.placesOfSelector(info, e)
	case *ast.TypeAssertExpr: // x of type any can have any origin, so x.(float64) is an origin itself
		return []place{valueAt(e)}
	case *ast.CompositeLit:
		return p.placesOfElements(v, e)
	case *ast.CallExpr:
		return p.placesOfCall(v, e)
	}
	return nil
}

// with returns the value of e, another expression of the same package as v.
func (v value) with(e ast.Expr) value { return value{pkg: v.pkg, expr: e} }

// placesOfSelector returns the place of a field, as in order.Count, or of the variable of a
// package. For the key of a model, as in order.ID or order.Model.ID, it returns the place of
// the keys of Order instead of the place of the field, because the field can be the ID of
// gorm.Model, which other structs embed too.
func (p *program) placesOfSelector(info *types.Info, e *ast.SelectorExpr) []place {
	variable, ok := info.ObjectOf(e.Sel).(*types.Var)
	if !ok {
		return nil
	}
	// For order.Model.ID, look at order.Model and then at order, until one of them is a model
	// whose key is this field.
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
	if p.shared[placeOf(variable)] { // the ID of gorm.Model in a struct whose key gormflake does not fill
		return nil
	}
	return []place{placeOf(variable)}
}

// placesOfElements returns the places of the elements of the literal of a slice, array or map
// of numbers, such as []uint{a, b}. For other literals it returns no place.
func (p *program) placesOfElements(v value, lit *ast.CompositeLit) (all []place) {
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

// placesOfCall returns the places from which a result of a call or conversion comes. v.result
// is the index of the result. If this result of a function holds numbers, placesOfCall also
// adds the place of the result to p.results, for [program.keysOf].
func (p *program) placesOfCall(v value, call *ast.CallExpr) (all []place) {
	if conversionType(v.pkg, call) != nil { // int64(id) has the places of id
		return p.places(v.with(call.Args[0]))
	}
	if returnsArguments(v.pkg.TypesInfo, call) {
		for _, arg := range call.Args {
			all = append(all, p.places(v.with(arg))...)
		}
		return all
	}
	f := callee(v.pkg, call)
	if f == nil {
		return nil
	}
	// id.Int64() of a types.ID has the places of id.
	if method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f.Name() == "Int64" && isID(v.pkg.TypesInfo.TypeOf(method.X)) {
		return p.places(v.with(method.X))
	}
	if v.result == 0 { // a rule such as parsewidth asks whether the value of this one call becomes a key
		all = append(all, valueAt(call))
	}
	results := f.Origin().Signature().Results()
	if v.result >= results.Len() || !holdsNumber(results.At(v.result).Type()) {
		return all
	}
	result := placeOf(results.At(v.result))
	for _, i := range p.returned[result] { // the arguments of this call that the function returns as they are
		if i < len(call.Args) {
			all = append(all, p.places(v.with(call.Args[i]))...)
		}
	}
	p.results[result] = true
	return append(all, result)
}

// returnsArguments reports whether a call is of append, min or max, whose result consists of
// the arguments.
func returnsArguments(info *types.Info, call *ast.CallExpr) bool {
	name, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	if _, builtin := info.Uses[name].(*types.Builtin); !builtin {
		return false
	}
	return name.Name == "append" || name.Name == "min" || name.Name == "max"
}

// record records how numbers go from place to place in the syntax of a package.
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
		case *ast.RangeStmt: // of the two variables, only the second one has an element of node.X
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

// recordAssignment records that the expressions on the right are assigned to the variables on
// the left. In a, b = x, y, each variable gets one expression. In n, err = f(), the variables
// get the results of the call. A declaration without values has nothing on the right.
func (p *program) recordAssignment(pkg *analysis.Pass, left, right []ast.Expr) {
	for i := range left {
		switch {
		case len(right) == len(left):
			p.assignTo(left[i], value{pkg: pkg, expr: right[i]})
		case len(right) == 1:
			p.assignTo(left[i], value{pkg: pkg, expr: right[0], result: i})
		}
	}
}

// recordReturn records that a return statement assigns its values to the results of the
// function that contains it. cursor is the position of the statement in the syntax.
func (p *program) recordReturn(pkg *analysis.Pass, cursor inspector.Cursor, node *ast.ReturnStmt) {
	// The first function of Enclosing is the innermost, and the loop returns after it.
	for enclosing := range cursor.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		decl, ok := enclosing.Node().(*ast.FuncDecl)
		if !ok {
			return // a function literal, whose calls cannot be found by a name
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
			case len(node.Results) == 1: // as in return f(), where f has several results
				v.expr = node.Results[0]
			default:
				return // a return without values, whose results are variables that were assigned before
			}
			p.recordResult(f, results.At(i), v)
		}
		return
	}
}

// recordResult records that the function f returns a value as the result. If the value is a
// parameter of f, as in func either(a, b uint) uint { return a }, recordResult only notes the
// index of the parameter in p.returned. It must not connect the parameter with the result,
// because all calls of f share these two places. An argument of one call would then seem to
// reach the results of every other call. [program.placesOfCall] looks up the argument of each
// call instead.
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

// paramIndex returns the index of the parameter of f whose place is at, or -1.
func paramIndex(f *types.Func, at place) int {
	params := f.Signature().Params()
	for i := range params.Len() {
		if placeOf(params.At(i)) == at {
			return i
		}
	}
	return -1
}

// recordFields records that the literal of a struct, such as Line{OrderID: id}, assigns
// values to its fields. If the struct is a model, the value of its key is recorded at m.keys(),
// the one place that stands for the keys of all rows of the model, and not at the place of the
// field.
func (p *program) recordFields(pkg *analysis.Pass, lit *ast.CompositeLit) {
	m, isModel := p.modelOf(pkg.TypesInfo.TypeOf(lit))
	if isModel {
		if key := keyOfLiteral(pkg.TypesInfo, lit, m.key); key != nil {
			p.assign(m.keys(), m.key.Type(), value{pkg: pkg, expr: key})
		}
	}
	for field, e := range fieldValues(pkg.TypesInfo, lit) {
		isKey := isModel && field.Origin() == m.key.Origin()
		// A shared field is, for example, the ID in the literal gorm.Model{ID: 1}, which does
		// not show the model of the key. keyOfLiteral finds this ID from the literal of the
		// model, such as Order{Model: gorm.Model{ID: 1}}.
		if !isKey && !p.shared[placeOf(field)] {
			p.assign(placeOf(field), field.Type(), value{pkg: pkg, expr: e})
		}
	}
}

// fieldValues yields the fields that the literal of a struct sets, with their values. For
// literals of other types it yields nothing.
func fieldValues(info *types.Info, lit *ast.CompositeLit) iter.Seq2[*types.Var, ast.Expr] {
	return func(yield func(*types.Var, ast.Expr) bool) {
		s, ok := derefType(info.TypeOf(lit)).Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i, e := range lit.Elts {
			var field *types.Var
			if pair, ok := e.(*ast.KeyValueExpr); !ok { // a literal without the names of fields
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

// keyOfLiteral returns the value of the field key in a literal, or nil if the literal does
// not set the field. It also finds the value in the literal of an embedded struct, as in
// Order{Model: gorm.Model{ID: 1}}.
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

// recordArguments records that a call assigns its arguments to the parameters of the
// function. If the call is a conversion to a types.ID, its argument becomes a key.
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
			return // the arguments are the results of another call, as in f(g()), or the receiver, as in User.String(u)
		}
		param := params.At(min(i, params.Len()-1)) // the last parameter may be variadic
		p.assign(placeOf(param), param.Type(), value{pkg: pkg, expr: arg})
	}
}

// use records that a query or a conversion to types.ID uses a value as one of the keys. It
// sets the field query of the value, because this value looks for a row and does not set the
// key of a row.
func (p *program) use(v value, keys place) {
	v.query = true
	p.values[keys] = append(p.values[keys], v)
	for _, from := range p.places(v) {
		p.connect(from, keys)
	}
}

// reach returns the places that can be reached from the places in start over the edges. The
// result maps each reached place to the place in start from which it is reached. If several
// places in start reach it, this is the first of them.
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

// derefType returns the type to which t points, or t if it is not a pointer.
func derefType(t types.Type) types.Type {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}
