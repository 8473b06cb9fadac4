package vet

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// parse reports IDs that strconv or fmt has read from a text, where types.ParseID should read
// them. It reports the conversion of a parsed number, such as types.ID(n), and the argument
// into which fmt scans. types.ParseID accepts only the digits of an ID, but strconv.Atoi also
// accepts +5, and fmt reads 5.5 as 5.
var parse = rule("parse", "report IDs that are read by strconv or fmt", func(pass *analysis.Pass, in *inspector.Inspector) {
	parsedBy := map[types.Object]string{} // the function of strconv whose result a variable has, such as Atoi
	for node := range in.PreorderSeq((*ast.AssignStmt)(nil), (*ast.CallExpr)(nil)) {
		switch node := node.(type) {
		case *ast.AssignStmt:
			if variable, call := assignedCall(node); call != nil && isFunc(callee(pass, call), "strconv", "Atoi", "ParseInt", "ParseUint") {
				parsedBy[pass.TypesInfo.ObjectOf(variable)] = callee(pass, call).Name()
			}
		case *ast.CallExpr:
			reportRead(pass, node, parsedBy)
		}
	}
})

// reportRead reports a call that converts a parsed number to an ID, such as types.ID(n), and
// a call such as fmt.Sscan(s, &id) that reads an ID. parsedBy has the variables whose number
// strconv has parsed, with the name of the function.
func reportRead(pass *analysis.Pass, call *ast.CallExpr, parsedBy map[types.Object]string) {
	if to := conversionType(pass, call); to != nil && isID(to) {
		if variable := innerVariable(pass, call); variable != nil && parsedBy[pass.TypesInfo.Uses[variable]] != "" {
			pass.Reportf(call.Pos(), "an ID that strconv.%s has read: use types.ParseID, which takes nothing but the digits of an ID", parsedBy[pass.TypesInfo.Uses[variable]])
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

// innerVariable returns the variable inside a conversion or nested conversions, such as n in
// types.ID(int64(n)), or nil if another expression is inside.
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

// untyped reports reads of an integer, such as c.GetInt("user"), under a key under which the
// package stores an ID as any, for example in the context of a request. Such a read returns 0,
// or panics, because the value is a types.ID.
var untyped = rule("untyped", "report IDs that are stored as any and read as an integer, which returns 0", func(pass *analysis.Pass, in *inspector.Inspector) {
	stored := map[string]bool{} // the keys under which IDs are stored
	for call := range inspector.All[*ast.CallExpr](in) {
		recordStored(pass, call, stored)
	}
	varKeys := map[types.Object]string{} // variables of type any, with the keys under which their values are stored
	for node := range in.PreorderSeq((*ast.CallExpr)(nil), (*ast.AssignStmt)(nil), (*ast.TypeAssertExpr)(nil)) {
		switch node := node.(type) {
		case *ast.CallExpr:
			reportGetter(pass, node, stored)
		case *ast.AssignStmt:
			if key := readKey(pass, node.Rhs[0], varKeys); stored[key] {
				if variable, ok := node.Lhs[0].(*ast.Ident); ok {
					varKeys[pass.TypesInfo.ObjectOf(variable)] = key
				}
			}
		case *ast.TypeAssertExpr:
			reportAssertion(pass, node, stored, varKeys)
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
	// The last two arguments are the key and the value. Before them can be a context.
	switch f.Name() {
	case "Set", "Store", "WithValue", "SetUserValue", "Locals", "Put", "Add":
		value := call.Args[len(call.Args)-1]
		if key := contextKey(pass, call.Args[len(call.Args)-2]); key != "" && isID(pass.TypesInfo.TypeOf(value)) {
			stored[key] = true
		}
	}
}

// contextKey returns a text that identifies the key of a context or map in the program. It
// consists of the type and the constant value, as in string "user", or of the type alone if
// this is an empty struct. For a key that is not constant, contextKey returns "".
func contextKey(pass *analysis.Pass, e ast.Expr) string {
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
	if f == nil || len(call.Args) != 1 || !getterName.MatchString(f.Name()) || !stored[contextKey(pass, call.Args[0])] {
		return
	}
	pass.Reportf(call.Pos(), "%s returns the zero value, because an ID is stored under the key: read it as a types.ID", f.Name())
}

// getterName matches the names of methods that return a value as a basic type, such as
// GetInt of gin.
var getterName = regexp.MustCompile(`^Get(Int|Uint|String|Float)`)

// readKey returns the key under which e reads a value, in the form of [contextKey]. e is a
// call such as c.MustGet("user") or ctx.Value(key), or a variable in varKeys, to which the
// result of such a call was assigned. For any other expression, readKey returns "".
func readKey(pass *analysis.Pass, e ast.Expr, varKeys map[types.Object]string) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return varKeys[pass.TypesInfo.Uses[e]]
	case *ast.CallExpr:
		if f := callee(pass, e); f != nil && len(e.Args) == 1 {
			switch f.Name() {
			case "Get", "MustGet", "Value", "Load", "UserValue", "Locals":
				return contextKey(pass, e.Args[0])
			}
		}
	}
	return ""
}

// reportAssertion reports an assertion to a basic type, such as value.(int), if the value was
// read under a key in stored. The assertion fails, because the value is a types.ID. varKeys
// has the keys of variables such as value.
func reportAssertion(pass *analysis.Pass, assert *ast.TypeAssertExpr, stored map[string]bool, varKeys map[types.Object]string) {
	if assert.Type == nil || !stored[readKey(pass, assert.X, varKeys)] { // without a Type, it is a type switch
		return
	}
	if basic, ok := pass.TypesInfo.TypeOf(assert.Type).(*types.Basic); ok {
		pass.Reportf(assert.Pos(), "the value is an ID, not a %s: assert types.ID", basic.Name())
	}
}
