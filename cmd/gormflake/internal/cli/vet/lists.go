package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// list reports calls of gormflake.WithModels whose models cannot be found, because the other
// rules then do not check the keys of these models. It needs all packages of the program,
// because the list can come from another package than the call.
var list = rule("list", "report calls of WithModels whose models cannot be found", func(pass *analysis.Pass, in *inspector.Inspector) {
	p := programOf(pass)
	for call := range inspector.All[*ast.CallExpr](in) {
		if p.complete && len(call.Args) > 0 && isFunc(callee(pass, call), module, "WithModels") && !p.findListed(pass, call) {
			pass.Reportf(call.Pos(), "the models of this list cannot be found, so that vet does not check their keys: assign the list in these packages, as a slice of models")
		}
	}
})

// findLists adds the models that a package passes to gormflake.WithModels to p.listed.
func (p *program) findLists(pkg *analysis.Pass) {
	for call := range inspector.All[*ast.CallExpr](inspectorOf(pkg)) {
		if isFunc(callee(pkg, call), module, "WithModels") {
			p.findListed(pkg, call)
		}
	}
}

// findListed adds the models that a call of gormflake.WithModels has as arguments to
// p.listed, and reports whether it found a model.
func (p *program) findListed(pkg *analysis.Pass, call *ast.CallExpr) bool {
	f := finder{program: p, seen: map[ast.Expr]bool{}}
	for _, arg := range call.Args {
		f.expr(value{pkg: pkg, expr: arg})
	}
	return f.found
}

// A finder finds the models of a list, which is often a variable of type []any. It follows
// variables, parameters and results to the values that the program assigns to them.
type finder struct {
	program *program
	seen    map[ast.Expr]bool // the expressions that it has followed, because assignments can form a cycle
	found   bool              // whether it has found a model
}

// expr adds the models of an expression, which is a model, such as &Order{}, or a list of
// models, such as []any{&Order{}, &User{}} or a variable with this value.
func (f *finder) expr(v value) {
	e := ast.Unparen(v.expr)
	if f.seen[e] {
		return
	}
	f.seen[e] = true
	if named := namedStruct(v.pkg.TypesInfo.TypeOf(e)); named != nil {
		f.program.listed[path(named)] = true
		f.found = true
		return
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		for _, item := range e.Elts {
			if pair, ok := item.(*ast.KeyValueExpr); ok {
				item = pair.Value
			}
			f.expr(v.with(item))
		}
	case *ast.CallExpr:
		f.call(v, e)
	default:
		for _, at := range f.program.places(v.with(e)) {
			f.place(at)
		}
	}
}

// namedStruct returns the type Order for Order, *Order and []Order, if Order is a struct. It
// returns nil for other types, such as []any.
func namedStruct(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	named, ok := types.Unalias(element(t)).(*types.Named)
	if !ok {
		return nil
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return nil
	}
	return named
}

// call adds the models that a call returns as the result with the index v.result. If no
// loaded package declares the function, as for append and slices.Concat, it adds the models
// of the arguments, because such a function usually returns its arguments.
func (f *finder) call(v value, call *ast.CallExpr) {
	// The values that a function returns are recorded if a loaded package declares it.
	if called := callee(v.pkg, call); called != nil {
		results := called.Origin().Signature().Results()
		if v.result >= results.Len() {
			return
		}
		if at := placeOf(results.At(v.result)); len(f.program.values[at]) > 0 {
			f.place(at)
			return
		}
	}
	for _, arg := range call.Args {
		f.expr(v.with(arg))
	}
}

// place adds the models of all values that are assigned to a place.
func (f *finder) place(at place) {
	for _, assigned := range f.program.values[at] {
		f.expr(assigned)
	}
}
