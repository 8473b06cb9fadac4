package vet

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// plugin reports creates on a handle of GORM that gorm.Open has returned, unless the
// program may have added the plugin to the handle. A test may let the database assign the
// keys of listed models.
var plugin = rule("plugin", "report creates of tagged models on a *gorm.DB without the plugin", func(pass *analysis.Pass, in *inspector.Inspector) {
	for assign := range inspector.All[*ast.AssignStmt](in) {
		variable, call := assignedCall(assign)
		if call == nil || !isFunc(callee(pass, call), "gorm.io/gorm", "Open") {
			continue
		}
		for _, create := range createsOn(pass, in, pass.TypesInfo.Defs[variable]) {
			m, ok := programOf(pass).modelOf(pass.TypesInfo.TypeOf(create.Args[0]))
			if ok && (m.kind() == tagged || !isTest(value{pkg: pass, expr: create})) {
				pass.Reportf(create.Pos(), "model %s has a %s key, and its *gorm.DB has no plugin: call gormflake.Open, or db.Use(gormflake.New(gen)), first", m.name, m.kind())
			}
		}
	}
})

// createsOn returns the calls on a handle that create rows. The result is empty if other code
// may have added the plugin. That is so if the handle is used in another way than to call
// its methods, or if Use or Callback is called. db is nil if the handle is not a variable
// of this package.
func createsOn(pass *analysis.Pass, in *inspector.Inspector, db types.Object) (creates []*ast.CallExpr) {
	for use := range in.Root().Preorder((*ast.Ident)(nil)) {
		if db == nil || pass.TypesInfo.Uses[use.Node().(*ast.Ident)] != db {
			continue
		}
		call, method := methodCall(use)
		if method == "" {
			return nil
		}
		for ; method != ""; call, method = methodCall(call) {
			switch method {
			case "Use", "Callback":
				return nil
			case "Create", "CreateInBatches", "Save", "FirstOrCreate":
				creates = append(creates, call.Node().(*ast.CallExpr))
			}
		}
	}
	return creates
}

// methodCall returns the call of a method on the expression, and the name of the method.
// The name is empty if the expression is used in another way, for example as an argument.
func methodCall(of inspector.Cursor) (call inspector.Cursor, method string) {
	selector := of.Parent()
	if of.ParentEdgeKind() != edge.SelectorExpr_X || selector.ParentEdgeKind() != edge.CallExpr_Fun {
		return of, ""
	}
	return selector.Parent(), selector.Node().(*ast.SelectorExpr).Sel.Name
}

// foreignKey reports foreign keys that cannot hold the key of a model.
var foreignKey = rule("foreignkey", "report foreign keys too narrow for the key to which they refer", func(pass *analysis.Pass, in *inspector.Inspector) {
	for spec := range inspector.All[*ast.TypeSpec](in) {
		named, ok := pass.TypesInfo.Defs[spec.Name].(*types.TypeName)
		if !ok || spec.TypeParams != nil {
			continue
		}
		p := programOf(pass)
		m, _ := p.modelOf(named.Type())
		for _, relation := range m.fields {
			if owner, foreign, ok := p.foreignKey(m, relation); ok {
				reportForeignKey(pass, spec, owner, foreign)
			}
		}
	}
})

// foreignKey returns the foreign key of a relation of m by GORM's rules, and the model to
// whose key it refers, which is to. ok is false for a relation many2many, for a foreign
// key of several columns, and unless gormflake fills the key of one of the two models.
func (p *program) foreignKey(m model, relation field) (to model, foreign field, ok bool) {
	other, filled := p.modelOf(relation.Type())
	name, named := relation.setting("foreignKey")
	if _, joined := relation.setting("many2many"); joined || strings.Contains(name, ",") {
		return to, foreign, false
	}
	references, _ := relation.setting("references")
	_, many := relation.Type().Underlying().(*types.Slice)
	// If m has a field Seller of type User, it belongs to the user, so the foreign key is
	// SellerID in m.
	if filled && !many && (references == "" || references == other.key.Name()) {
		if foreign, ok = m.field(cmp.Or(name, relation.Name()+other.key.Name())); ok {
			return other, foreign, true
		}
	}
	if m.key == nil || references != "" && references != m.key.Name() {
		return to, foreign, false
	}
	// If m is Order and has a field Lines of type []Line, each line belongs to an order, so
	// the foreign key is OrderID in Line.
	if !named {
		name = m.name + m.key.Name()
	}
	foreign, ok = model{fields: fieldsOf(relation.Type(), 0)}.field(name)
	return m, foreign, ok
}

// reportForeignKey reports a foreign key that cannot hold the key of to. If its field is
// declared in another package, the position is that of the model.
func reportForeignKey(pass *analysis.Pass, spec *ast.TypeSpec, to model, foreign field) {
	problem := tooNarrow(pass, foreign)
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

// tooNarrow returns the reason why a field cannot hold every ID, or "".
func tooNarrow(pass *analysis.Pass, f field) string {
	t := element(f.Type())
	if s, ok := t.Underlying().(*types.Struct); ok && s.NumFields() == 2 && s.Field(1).Name() == "Valid" { // a type such as sql.NullInt64
		t = s.Field(0).Type()
	}
	if isNarrow(pass, t) || basicKind(t) == types.Bool {
		return fmt.Sprintf("%s cannot hold it", t)
	}
	// The size of a number is in bits, but that of a string in characters.
	size, _ := f.setting("size")
	if bits, err := strconv.Atoi(size); err == nil && bits < 64 && basicKind(t) != types.String && basicKind(t) != types.Invalid {
		return "size:" + size + " makes a column that cannot hold it"
	}
	return ""
}
