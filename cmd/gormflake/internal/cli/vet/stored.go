package vet

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// untyped is about IDs that are stored as any, as in the context of a request, and
// read as an integer: what reads it there returns 0, or panics.
var untyped = rule("untyped", "report IDs that are stored as any and read as an integer, which returns 0", func(pass *analysis.Pass, in *inspector.Inspector) {
	stored := map[string]bool{}
	for call := range inspector.All[*ast.CallExpr](in) {
		noteStored(pass, call, stored)
	}
	taken := map[types.Object]string{} // variables of type any, by their keys
	for node := range in.PreorderSeq((*ast.CallExpr)(nil), (*ast.AssignStmt)(nil), (*ast.TypeAssertExpr)(nil)) {
		switch node := node.(type) {
		case *ast.CallExpr:
			reportGetter(pass, node, stored)
		case *ast.AssignStmt:
			if key := takenKey(pass, node.Rhs[0], taken); stored[key] {
				if variable, ok := node.Lhs[0].(*ast.Ident); ok {
					taken[pass.TypesInfo.ObjectOf(variable)] = key
				}
			}
		case *ast.TypeAssertExpr:
			reportAssertion(pass, node, stored, taken)
		}
	}
})

// noteStored notes calls such as c.Set("user", id) and context.WithValue(ctx, key, id).
func noteStored(pass *analysis.Pass, call *ast.CallExpr, stored map[string]bool) {
	f := callee(pass, call)
	if f == nil || len(call.Args) < 2 {
		return
	}
	switch f.Name() {
	case "Set", "Store", "WithValue", "SetUserValue", "Locals", "Put", "Add":
		value := call.Args[len(call.Args)-1]
		if key := keyOf(pass, call.Args[len(call.Args)-2]); key != "" && isID(pass.TypesInfo.TypeOf(value)) {
			stored[key] = true
		}
	}
}

// keyOf returns what tells one key from others: its constant and its type, or the type
// alone of an empty struct.
func keyOf(pass *analysis.Pass, e ast.Expr) string {
	t := pass.TypesInfo.Types[e]
	if t.Value != nil {
		return t.Type.String() + " " + t.Value.ExactString()
	}
	if t.Type == nil || !types.Identical(t.Type.Underlying(), new(types.Struct)) {
		return ""
	}
	return t.Type.String()
}

// reportGetter reports getters that return 0 for a value of another type.
func reportGetter(pass *analysis.Pass, call *ast.CallExpr, stored map[string]bool) {
	f := callee(pass, call)
	if f == nil || len(call.Args) != 1 || !getter.MatchString(f.Name()) || !stored[keyOf(pass, call.Args[0])] {
		return
	}
	pass.Reportf(call.Pos(), "%s returns the zero value, because an ID is stored under the key: read it as a types.ID", f.Name())
}

var getter = regexp.MustCompile(`^Get(Int|Uint|String|Float)`)

// takenKey returns the key of a call such as c.MustGet("user") or ctx.Value(key), or
// the one by which a variable was taken.
func takenKey(pass *analysis.Pass, e ast.Expr, taken map[types.Object]string) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return taken[pass.TypesInfo.Uses[e]]
	case *ast.CallExpr:
		if f := callee(pass, e); f != nil && len(e.Args) == 1 {
			switch f.Name() {
			case "Get", "MustGet", "Value", "Load", "UserValue", "Locals":
				return keyOf(pass, e.Args[0])
			}
		}
	}
	return ""
}

func reportAssertion(pass *analysis.Pass, assert *ast.TypeAssertExpr, stored map[string]bool, taken map[types.Object]string) {
	if assert.Type == nil || !stored[takenKey(pass, assert.X, taken)] {
		return
	}
	if basic, ok := pass.TypesInfo.TypeOf(assert.Type).(*types.Basic); ok {
		pass.Reportf(assert.Pos(), "the value is an ID, not a %s: assert types.ID", basic.Name())
	}
}
