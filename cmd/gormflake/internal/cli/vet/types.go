package vet

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// The import paths of gormflake and of its package types.
const (
	module  = "github.com/gormflake/gormflake"
	idTypes = module + "/types"
)

// rule returns the analyzer of a rule, which calls run for each package. run can call
// [programOf], because the analyzer runs after keys.
func rule(name, doc string, run func(*analysis.Pass, *inspector.Inspector)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		Requires: []*analysis.Analyzer{inspect.Analyzer, keys},
		Run: func(pass *analysis.Pass) (any, error) {
			run(pass, inspectorOf(pass))
			return nil, nil
		},
	}
}

// programOf returns the program that the analyzer keys has learned. For the command vet, it
// knows all packages, and under go vet, only the package of the pass.
func programOf(pass *analysis.Pass) *program { return pass.ResultOf[keys].(*program) }

// isID reports whether t is types.ID or types.Of, whose underlying type is int64.
func isID(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == idTypes && basicKind(t) == types.Int64
}

// basicKind returns the kind of the underlying basic type, or [types.Invalid] for any
// other type.
func basicKind(t types.Type) types.BasicKind {
	if basic, ok := t.Underlying().(*types.Basic); ok {
		return basic.Kind()
	}
	return types.Invalid
}

// maxDepth limits how many pointers, slices, maps and embedded structs are unwrapped, because
// unwrapping a type such as type Tree []Tree would never end.
const maxDepth = 8

// element returns the type without its pointers and slices, for example Order for
// []*Order.
func element(t types.Type) types.Type {
	for range maxDepth {
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		default:
			return t
		}
	}
	return t
}

// A model is a struct of a program. Its key is the field with the tag snowflake:"pk", or the
// field that gormflake.WithModels fills, or nil if gormflake fills no key.
type model struct {
	name   string
	path   string // the import path and the name
	fields []field
	key    *types.Var
}

// A field is a field of a struct of the program, with its tag.
type field struct {
	*types.Var
	tag reflect.StructTag
}

// taggedModel returns the model of a type such as Order, *Order or []Order. ok is true if a
// field of the model has the tag snowflake:"pk". If ok is false, m has its fields, but no key.
func taggedModel(t types.Type) (m model, ok bool) {
	named, isNamed := types.Unalias(element(t)).(*types.Named)
	if !isNamed {
		return m, false
	}
	m = model{name: named.Obj().Name(), path: path(named), fields: fieldsOf(named, 0)}
	for _, f := range m.fields {
		if tag := f.tag.Get("snowflake"); tag == "pk" || strings.HasPrefix(tag, "pk,") {
			m.key = f.Var
			return m, true
		}
	}
	return m, false
}

// The ways in which gormflake knows the key of a model.
const (
	tagged = "tagged"
	listed = "listed"
)

// kind returns tagged if the key of the model has the tag snowflake, and otherwise listed.
func (m model) kind() string {
	for _, f := range m.fields {
		if f.Var == m.key && f.tag.Get("snowflake") != "" {
			return tagged
		}
	}
	return listed
}

// path returns the import path and the name of a type, for example "example/shop.Order".
func path(named *types.Named) string {
	if named.Obj().Pkg() == nil { // a predeclared type such as error
		return named.Obj().Name()
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

// fieldsOf returns the fields of a struct, or of the struct to which a pointer or slice
// leads. The fields of an embedded struct, such as gorm.Model, take its place, as in GORM.
// depth is the number of structs in which t is embedded.
func fieldsOf(t types.Type, depth int) (fields []field) {
	s, ok := element(t).Underlying().(*types.Struct)
	if !ok || depth > maxDepth { // a struct that embeds a pointer to itself would never end
		return nil
	}
	for i := range s.NumFields() {
		f := field{s.Field(i), reflect.StructTag(s.Tag(i))}
		if _, embedded := f.setting("embedded"); f.Embedded() || embedded {
			fields = append(fields, fieldsOf(f.Type(), depth+1)...)
		} else {
			fields = append(fields, f)
		}
	}
	return fields
}

// field returns the field with the name in Go, such as OrderID.
func (m model) field(name string) (field, bool) {
	i := slices.IndexFunc(m.fields, func(f field) bool { return f.Name() == name })
	if i < 0 {
		return field{}, false
	}
	return m.fields[i], true
}

// setting returns the value of a setting in the field's gorm tag. For column, this is
// user_id in gorm:"column:user_id;not null". A setting without a value, such as primaryKey,
// has the value "", and ok is true.
func (f field) setting(name string) (value string, ok bool) {
	for setting := range strings.SplitSeq(f.tag.Get("gorm"), ";") {
		key, value, _ := strings.Cut(setting, ":")
		if strings.EqualFold(strings.TrimSpace(key), name) {
			return value, true
		}
	}
	return "", false
}

// assignedCall returns the variable to which the first result of a call is assigned, and
// the call, for example n and strconv.Atoi(s) for n, err := strconv.Atoi(s). The call is nil
// if the assigned value is not a call. Both are nil if the left side is not a variable, but
// for example x.f or x[i].
func assignedCall(assign *ast.AssignStmt) (variable *ast.Ident, call *ast.CallExpr) {
	variable, ok := assign.Lhs[0].(*ast.Ident)
	if ok {
		call, _ = ast.Unparen(assign.Rhs[0]).(*ast.CallExpr)
	}
	return variable, call
}

// callee returns the function or method that a call names. It returns nil for other calls,
// for example of a variable, of a built-in function or for a conversion.
func callee(pass *analysis.Pass, call *ast.CallExpr) *types.Func {
	f, _ := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
	return f
}

// isFunc reports whether f is one of the named functions, or methods, of the package with
// this path. f may be nil.
func isFunc(f *types.Func, path string, names ...string) bool {
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == path && slices.Contains(names, f.Name())
}

// conversionType returns the type to which a call converts its only argument, such as int64
// for int64(id), or nil if the call is not a conversion.
func conversionType(pass *analysis.Pass, call *ast.CallExpr) types.Type {
	if fun := pass.TypesInfo.Types[call.Fun]; fun.IsType() && len(call.Args) == 1 {
		return fun.Type
	}
	return nil
}

// isTest reports whether an expression is in a file of tests.
func isTest(v value) bool {
	return strings.HasSuffix(v.pkg.Fset.File(v.expr.Pos()).Name(), "_test.go")
}
