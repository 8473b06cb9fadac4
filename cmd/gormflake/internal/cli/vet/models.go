package vet

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// plugin is about handles of GORM that never get the plugin.
var plugin = rule("plugin", "report creates of tagged models on a *gorm.DB without the plugin", func(pass *analysis.Pass, node ast.Node) {
	body := node.(*ast.FuncDecl).Body
	if body == nil {
		return
	}
	for _, db := range opened(pass, body) {
		creates, ok := createsOn(pass, body, db)
		for _, create := range creates {
			if m, tagged := modelOf(pass.TypesInfo.TypeOf(create.Args[0])); ok && tagged {
				pass.Reportf(create.Pos(), "model %s has a tagged key, and its *gorm.DB has no plugin: call gormflake.Open, or db.Use(gormflake.New(gen)), first", m.name)
			}
		}
	}
}, (*ast.FuncDecl)(nil))

// opened returns the variables to which gorm.Open is assigned in a function.
func opened(pass *analysis.Pass, body *ast.BlockStmt) (handles []types.Object) {
	ast.Inspect(body, func(node ast.Node) bool {
		if assign, ok := node.(*ast.AssignStmt); ok {
			call, isCall := assign.Rhs[0].(*ast.CallExpr)
			variable, isIdent := assign.Lhs[0].(*ast.Ident)
			if isCall && isIdent && isFunc(callee(pass, call), "gorm.io/gorm", "Open") {
				handles = append(handles, pass.TypesInfo.Defs[variable]) // nil if it lives elsewhere
			}
		}
		return true
	})
	return handles
}

// createsOn returns the creates on a handle. ok is false if somebody else may have
// given it the plugin: then it is used otherwise than to call its methods, or has got
// a plugin or callbacks here.
func createsOn(pass *analysis.Pass, body *ast.BlockStmt, db types.Object) (creates []*ast.CallExpr, ok bool) {
	if db == nil {
		return nil, false
	}
	uses, called := 0, 0
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Ident:
			if pass.TypesInfo.Uses[node] == db {
				uses++
			}
		case *ast.CallExpr:
			method := callee(pass, node)
			if method == nil || root(pass, node) != db {
				return true
			}
			switch method.Name() {
			case "Use", "Callback":
				return true
			case "Create", "CreateInBatches", "Save", "FirstOrCreate":
				creates = append(creates, node)
			}
			if receiver, direct := node.Fun.(*ast.SelectorExpr).X.(*ast.Ident); direct && pass.TypesInfo.Uses[receiver] == db {
				called++
			}
		}
		return true
	})
	return creates, uses == called
}

// root returns the variable at the start of a chain of calls.
func root(pass *analysis.Pass, call *ast.CallExpr) types.Object {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	switch x := ast.Unparen(selector.X).(type) {
	case *ast.Ident:
		return pass.TypesInfo.Uses[x]
	case *ast.CallExpr:
		return root(pass, x)
	}
	return nil
}

// foreignKey is about foreign keys that cannot hold the key of a tagged model.
var foreignKey = rule("foreignkey", "report foreign keys too narrow for the tagged key to which they refer", func(pass *analysis.Pass, node ast.Node) {
	spec := node.(*ast.TypeSpec)
	named, ok := pass.TypesInfo.Defs[spec.Name].(*types.TypeName)
	if !ok || spec.TypeParams != nil {
		return
	}
	m, _ := modelOf(named.Type())
	for _, relation := range m.fields {
		if owner, foreign, ok := m.foreignKey(relation); ok {
			reportForeignKey(pass, spec, owner, foreign)
		}
	}
}, (*ast.TypeSpec)(nil))

// foreignKey returns the foreign key by which a field relates models, as GORM finds
// it, and the model to whose tagged key it refers.
func (m model) foreignKey(relation field) (to model, foreign field, ok bool) {
	other, tagged := modelOf(relation.Type())
	name, named := relation.setting("foreignKey")
	if _, joined := relation.setting("many2many"); joined || strings.Contains(name, ",") {
		return to, foreign, false
	}
	_, many := relation.Type().Underlying().(*types.Slice)
	if tagged && !many {
		if foreign, ok = m.field(cmp.Or(name, relation.Name()+other.key.Name())); ok {
			return other, foreign, true
		}
	}
	if m.key == nil {
		return to, foreign, false
	}
	if !named {
		name = m.name + m.key.Name()
	}
	foreign, ok = model{fields: fieldsOf(relation.Type(), 0)}.field(name)
	return m, foreign, ok
}

func reportForeignKey(pass *analysis.Pass, spec *ast.TypeSpec, to model, foreign field) {
	problem := tooNarrow(foreign)
	if problem == "" {
		return
	}
	pos := spec.Pos()
	if foreign.Pkg() == pass.Pkg {
		pos = foreign.Pos()
	}
	key := types.TypeString(to.key.Type(), types.RelativeTo(pass.Pkg))
	pass.Reportf(pos, "foreign key %s refers to the key of %s, and %s: use %s", foreign.Name(), to.name, problem, key)
}

// tooNarrow returns why a field cannot hold every ID, empty if it can.
func tooNarrow(f field) string {
	t := target(f.Type())
	if s, ok := t.Underlying().(*types.Struct); ok && s.NumFields() == 2 && s.Field(1).Name() == "Valid" { // of database/sql
		t = s.Field(0).Type()
	}
	if isNarrow(t) || basicKind(t) == types.Bool {
		return fmt.Sprintf("%s cannot hold it", t)
	}
	size, _ := f.setting("size")
	if bits, err := strconv.Atoi(size); err == nil && bits < 64 && basicKind(t) != types.String && basicKind(t) != types.Invalid {
		return "size:" + size + " makes a column that cannot hold it"
	}
	return ""
}
