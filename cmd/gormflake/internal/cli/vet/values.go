package vet

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// parse reports texts that are parsed as a number and then used as an ID.
var parse = rule("parse", "report IDs that are read by strconv or fmt", func(pass *analysis.Pass, in *inspector.Inspector) {
	read := map[types.Object]string{} // variables, with the name of the function of strconv that parsed them
	for node := range in.PreorderSeq((*ast.AssignStmt)(nil), (*ast.CallExpr)(nil)) {
		switch node := node.(type) {
		case *ast.AssignStmt:
			if variable, call := assignedCall(node); call != nil && isFunc(callee(pass, call), "strconv", "Atoi", "ParseInt", "ParseUint") {
				read[pass.TypesInfo.ObjectOf(variable)] = callee(pass, call).Name()
			}
		case *ast.CallExpr:
			reportRead(pass, node, read)
		}
	}
})

// reportRead reports a call that converts a variable in read to an ID, and a call of
// package fmt that reads an ID.
func reportRead(pass *analysis.Pass, call *ast.CallExpr, read map[types.Object]string) {
	if to := conversionType(pass, call); to != nil && isID(to) {
		if variable := innerVariable(pass, call); variable != nil && read[pass.TypesInfo.Uses[variable]] != "" {
			pass.Reportf(call.Pos(), "an ID that strconv.%s has read: use types.ParseID, which takes nothing but the digits of an ID", read[pass.TypesInfo.Uses[variable]])
		}
		return
	}
	if !isFunc(callee(pass, call), "fmt", "Sscan", "Sscanf", "Sscanln", "Fscan", "Fscanf", "Fscanln") {
		return
	}
	for _, arg := range call.Args {
		if isID(element(pass.TypesInfo.TypeOf(arg))) {
			pass.Reportf(arg.Pos(), "fmt reads 5.5 as the ID 5: use types.ParseID, which takes nothing but the digits of an ID")
		}
	}
}

// innerVariable returns the variable inside nested conversions.
func innerVariable(pass *analysis.Pass, call *ast.CallExpr) *ast.Ident {
	switch arg := ast.Unparen(call.Args[0]).(type) {
	case *ast.Ident:
		return arg
	case *ast.CallExpr:
		if conversionType(pass, arg) != nil {
			return innerVariable(pass, arg)
		}
	}
	return nil
}

// untyped reports IDs that are stored as any, for example in the context of a request,
// and read as an integer. Reading them that way returns 0, or panics.
var untyped = rule("untyped", "report IDs that are stored as any and read as an integer, which returns 0", func(pass *analysis.Pass, in *inspector.Inspector) {
	stored := map[string]bool{}
	for call := range inspector.All[*ast.CallExpr](in) {
		recordStored(pass, call, stored)
	}
	taken := map[types.Object]string{} // variables of type any, with the keys under which their values are stored
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

// recordStored adds to stored the key of a call that stores an ID under a key, such as
// c.Set("user", id) of a web framework or context.WithValue(ctx, key, id).
func recordStored(pass *analysis.Pass, call *ast.CallExpr, stored map[string]bool) {
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

// keyOf identifies the key of a context or map by its type and its constant value, or by
// its type alone if it is an empty struct. It returns "" for any other key.
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

// reportGetter reports a call of a getter, such as c.GetInt("user"), for a key in stored.
// Such a getter returns 0 for a value of another type, here an ID.
func reportGetter(pass *analysis.Pass, call *ast.CallExpr, stored map[string]bool) {
	f := callee(pass, call)
	if f == nil || len(call.Args) != 1 || !getterName.MatchString(f.Name()) || !stored[keyOf(pass, call.Args[0])] {
		return
	}
	pass.Reportf(call.Pos(), "%s returns the zero value, because an ID is stored under the key: read it as a types.ID", f.Name())
}

// getterName matches the names of methods that return a value as a basic type, such as
// GetInt of gin.
var getterName = regexp.MustCompile(`^Get(Int|Uint|String|Float)`)

// takenKey returns the key of a call such as c.MustGet("user") or ctx.Value(key), or the
// key of a variable in taken, to which the result of such a call was assigned. It returns
// "" for any other expression.
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

// reportAssertion reports an assertion such as value.(int) of a value whose key is in stored.
// The assertion fails, because the value is a types.ID.
func reportAssertion(pass *analysis.Pass, assert *ast.TypeAssertExpr, stored map[string]bool, taken map[types.Object]string) {
	if assert.Type == nil || !stored[takenKey(pass, assert.X, taken)] {
		return
	}
	if basic, ok := pass.TypesInfo.TypeOf(assert.Type).(*types.Basic); ok {
		pass.Reportf(assert.Pos(), "the value is an ID, not a %s: assert types.ID", basic.Name())
	}
}
