package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// findImplementations connects the methods of interfaces that the packages call with the
// methods that implement them. If a program calls Find(id) of an interface, the number is
// then followed to the parameter id of each type's method Find.
func (p *program) findImplementations(packages []*analysis.Pass) {
	methods := map[string][]*types.Func{} // the methods that the packages declare, by name
	for _, pkg := range packages {
		for decl := range inspector.All[*ast.FuncDecl](inspectorOf(pkg)) {
			if f, ok := pkg.TypesInfo.Defs[decl.Name].(*types.Func); ok && decl.Recv != nil {
				methods[f.Name()] = append(methods[f.Name()], f)
			}
		}
	}
	done := map[*types.Func]bool{} // the called methods and functions that have been connected
	for _, pkg := range packages {
		for call := range inspector.All[*ast.CallExpr](inspectorOf(pkg)) {
			called := callee(pkg, call)
			if called == nil || done[called] {
				continue
			}
			done[called] = true
			p.connectImplementations(called, methods[called.Name()])
		}
	}
}

// connectImplementations connects the method of an interface, which a program calls, with
// the methods that implement it. methods are all methods of this name. It returns at once if
// called is a function, or a method of another type than an interface.
func (p *program) connectImplementations(called *types.Func, methods []*types.Func) {
	recv := called.Signature().Recv()
	if recv == nil {
		return
	}
	i, ok := recv.Type().Underlying().(*types.Interface)
	if !ok {
		return
	}
	for _, f := range methods {
		if types.Implements(f.Signature().Recv().Type(), i) {
			// Arguments go from the call to the implementation, and results go back.
			p.connectTuples(called.Signature().Params(), f.Signature().Params())
			p.connectTuples(f.Signature().Results(), called.Signature().Results())
		}
	}
}

// connectTuples records that the numbers among the parameters, or among the results, of one
// method go to the parameters, or results, with the same index of another method.
func (p *program) connectTuples(from, to *types.Tuple) {
	for i := range min(from.Len(), to.Len()) {
		if holdsNumber(from.At(i).Type()) {
			p.connect(placeOf(from.At(i)), placeOf(to.At(i)))
		}
	}
}
