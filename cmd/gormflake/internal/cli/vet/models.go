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

// plugin reports calls such as Create for a model whose key the plugin would fill, on a
// *gorm.DB that gorm.Open has returned and that has no plugin. The rows would get no key. In
// tests it leaves out listed models, which are in the list of gormflake.WithModels and have no
// tag, because there the database may assign their keys.
var plugin = rule("plugin", "report creates of tagged models on a *gorm.DB without the plugin", func(pass *analysis.Pass, in *inspector.Inspector) {
	for assign := range inspector.All[*ast.AssignStmt](in) {
		variable, call := assignedCall(assign)
		if call == nil || !isFunc(callee(pass, call), "gorm.io/gorm", "Open") {
			continue
		}
		for _, create := range createsOn(pass, in, pass.TypesInfo.Defs[variable]) {
			m, ok := programOf(pass).modelOf(pass.TypesInfo.TypeOf(create.Args[0]))
			mayBeAssigned := m.kind() == listed && isTest(value{pkg: pass, expr: create})
			if ok && !mayBeAssigned {
				pass.Reportf(create.Pos(), "model %s has a %s key, and its *gorm.DB has no plugin: call gormflake.Open, or db.Use(gormflake.New(gen)), first", m.name, m.kind())
			}
		}
	}
})

// createsOn returns the calls that create rows on db, a variable of type *gorm.DB. The result
// is empty if the plugin may have been added to db. This is so if Use or Callback is called, or
// if db is used for anything but a method call, for example as an argument of gormflake.Open.
// db is nil if the variable is declared elsewhere. The result is then empty too, because other
// functions can add the plugin.
func createsOn(pass *analysis.Pass, in *inspector.Inspector, db types.Object) (creates []*ast.CallExpr) {
	for use := range in.Root().Preorder((*ast.Ident)(nil)) {
		if db == nil || pass.TypesInfo.Uses[use.Node().(*ast.Ident)] != db {
			continue
		}
		call, method := methodCall(use)
		if method == "" {
			return nil
		}
		// Go through the methods of a chain such as db.WithContext(ctx).Save(&order).
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

// methodCall returns the call of a method on an expression, and the name of the method. For
// the expression db in db.Create(&order), it returns the whole call and Create. The name is
// empty if the expression is used in another way, for example as an argument. The argument of
// methodCall is the cursor of the expression, and the result is the cursor of the call.
func methodCall(of inspector.Cursor) (call inspector.Cursor, method string) {
	selector := of.Parent()
	// The expression has to be the x of a selector x.Method, and the selector the function of
	// a call.
	if of.ParentEdgeKind() != edge.SelectorExpr_X || selector.ParentEdgeKind() != edge.CallExpr_Fun {
		return of, ""
	}
	return selector.Parent(), selector.Node().(*ast.SelectorExpr).Sel.Name
}

// foreignKey reports fields that refer to the key of a model, and whose type or column is too
// narrow for the model's Snowflake IDs.
var foreignKey = rule("foreignkey", "report foreign keys too narrow for the key to which they refer", func(pass *analysis.Pass, in *inspector.Inspector) {
	for spec := range inspector.All[*ast.TypeSpec](in) {
		named, ok := pass.TypesInfo.Defs[spec.Name].(*types.TypeName)
		if !ok || spec.TypeParams != nil { // a generic type has no relations yet
			continue
		}
		p := programOf(pass)
		m, _ := p.modelOf(named.Type())
		for _, relation := range m.fields {
			if parent, foreign, ok := p.foreignKeyOf(m, relation); ok {
				reportForeignKey(pass, spec, parent, foreign)
			}
		}
	}
})

// foreignKeyOf returns the foreign key of a relation, by GORM's rules, and the parent, to
// whose key it refers. The relation is a field of m such as Seller of type User, or Lines of
// type []Line. The foreign key is a field of m or of the other model.
//
// ok is false in each of these cases: the field is not a relation; gormflake does not fill the
// key of the parent; the relation is many2many, which has a table of its own; the foreign key
// has several columns; or the relation refers to a column that is not the key.
func (p *program) foreignKeyOf(m model, relation field) (parent model, foreign field, ok bool) {
	other, filled := p.modelOf(relation.Type())
	name, named := relation.setting("foreignKey")
	if _, joined := relation.setting("many2many"); joined || strings.Contains(name, ",") {
		return parent, foreign, false
	}
	references, _ := relation.setting("references") // the field of the parent, which is the key by default
	_, many := relation.Type().Underlying().(*types.Slice)
	// If m has a field Seller of type User, a row of m belongs to a user, so the foreign key is
	// SellerID in m.
	if filled && !many && (references == "" || references == other.key.Name()) {
		if foreign, ok = m.field(cmp.Or(name, relation.Name()+other.key.Name())); ok {
			return other, foreign, true
		}
	}
	if m.key == nil || references != "" && references != m.key.Name() {
		return parent, foreign, false
	}
	// If m is Order and has a field Lines of type []Line, each line belongs to an order, so
	// the foreign key is OrderID in Line.
	if !named {
		name = m.name + m.key.Name()
	}
	foreign, ok = model{fields: fieldsOf(relation.Type(), 0)}.field(name)
	return m, foreign, ok
}

// reportForeignKey reports a foreign key that is too narrow for the key of the parent, at the
// position of its field. If another package declares the field, the position is spec, the
// declaration of the model with the relation.
func reportForeignKey(pass *analysis.Pass, spec *ast.TypeSpec, parent model, foreign field) {
	problem := tooNarrow(pass, foreign)
	if problem == "" {
		return
	}
	pos := spec.Pos()
	if foreign.Pkg() == pass.Pkg {
		pos = foreign.Pos()
	}
	key := types.TypeString(parent.key.Type(), types.RelativeTo(pass.Pkg))
	pass.Reportf(pos, "foreign key %s refers to the key of %s, and %s: use %s", foreign.Name(), parent.name, problem, key)
}

// tooNarrow returns the reason why a field cannot hold every Snowflake ID, such as "int32
// cannot hold it", or "" if it can.
func tooNarrow(pass *analysis.Pass, f field) string {
	t := element(f.Type())
	// In a type such as sql.NullInt64, the number is the first field, before Valid.
	if s, ok := t.Underlying().(*types.Struct); ok && s.NumFields() == 2 && s.Field(1).Name() == "Valid" {
		t = s.Field(0).Type()
	}
	if isNarrow(pass, t) || basicKind(t) == types.Bool {
		return fmt.Sprintf("%s cannot hold it", t)
	}
	// The tag gorm:"size:32" sets the size of a column, in bits for a number, but in
	// characters for a string.
	size, _ := f.setting("size")
	if bits, err := strconv.Atoi(size); err == nil && bits < 64 && basicKind(t) != types.String && basicKind(t) != types.Invalid {
		return "size:" + size + " makes a column that cannot hold it"
	}
	return ""
}
