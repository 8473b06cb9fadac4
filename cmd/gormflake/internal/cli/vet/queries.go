package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"gorm.io/gorm/schema"
)

// columnName returns GORM's default name for the column of a field, such as user_id for
// UserID.
func columnName(field string) string { return schema.NamingStrategy{}.ColumnName("", field) }

// findQueries records which arguments of GORM's queries in a package are keys, such as id in
// db.First(&order, id).
func (p *program) findQueries(pkg *analysis.Pass) {
	for cursor := range inspectorOf(pkg).Root().Preorder((*ast.CallExpr)(nil)) {
		for _, arg := range p.keyArguments(pkg, cursor) {
			p.use(value{pkg: pkg, expr: arg.expr}, arg.keys)
		}
	}
}

// A keyArgument is an argument of a query that is a key of a model.
type keyArgument struct {
	expr ast.Expr
	keys place // the keys of the model
}

// keyArguments returns the arguments of a call that are keys, if the call is of a method of
// GORM that takes conditions or sets a column. The conditions can be a text, as in
// Where("id = ?", id), a key, as in First(&order, id), or a map, as in
// Where(map[string]any{"id": id}). Update("user_id", id) sets a column. The call is at the
// cursor.
func (p *program) keyArguments(pkg *analysis.Pass, cursor inspector.Cursor) []keyArgument {
	call := cursor.Node().(*ast.CallExpr)
	f := callee(pkg, call)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "gorm.io/gorm" || len(call.Args) == 0 || f.Signature().Recv() == nil {
		return nil
	}
	conditions := call.Args
	switch f.Name() {
	case "First", "Take", "Last", "Find", "Delete":
		conditions = call.Args[1:] // the first argument is the destination, such as &order
	case "Where", "Or", "Not", "Having", "Raw", "Exec": // all arguments are conditions
	case "Update", "UpdateColumn":
		return p.columnArgument(pkg, cursor)
	default:
		return nil
	}
	if len(conditions) == 0 {
		return nil
	}
	m := p.statementModel(pkg, cursor)
	text, isText := constantText(pkg.TypesInfo, conditions[0])
	switch {
	case isText:
		return p.placeholders(m, text, conditions[1:])
	case m.key != nil && holdsNumber(pkg.TypesInfo.TypeOf(conditions[0])) && len(conditions) == 1: // a key, or a list of keys
		return []keyArgument{{conditions[0], m.keys()}}
	}
	return p.mapArguments(pkg, m, conditions[0])
}

// constantText returns the value of a constant string. ok is false for other expressions.
func constantText(info *types.Info, e ast.Expr) (text string, ok bool) {
	v := info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// beforePlaceholder matches the text before a placeholder that is compared with a column, as
// in "orders.id IN (". Its group is the column, orders.id.
var beforePlaceholder = regexp.MustCompile("(?i)([\\w.`\"]+)\\s*(?:=|<>|!=|<=|>=|<|>|\\bIN|\\bNOT\\s+IN)\\s*\\(?\\s*$")

// placeholders returns the arguments of a query whose placeholders are compared with keys of
// m or with its foreign keys. For "name = ? AND id = ?", this is the second argument.
func (p *program) placeholders(m model, query string, args []ast.Expr) (found []keyArgument) {
	parts := strings.Split(query, "?") // the text before each placeholder, and the end of the query
	for i, before := range parts[:len(parts)-1] {
		match := beforePlaceholder.FindStringSubmatch(before)
		if i >= len(args) || match == nil {
			continue
		}
		if keys, ok := p.columnKeys(m, match[1]); ok {
			found = append(found, keyArgument{args[i], keys})
		}
	}
	return found
}

// columnKeys returns the keys that a column holds in a statement of the model m. These are
// the keys of m for its own key, such as id or orders.id, and the keys of the parent for a
// foreign key, such as user_id. ok is false for other columns and other tables.
func (p *program) columnKeys(m model, column string) (keys place, ok bool) {
	column = strings.NewReplacer("`", "", `"`, "").Replace(column)
	if i := strings.LastIndexByte(column, '.'); i >= 0 {
		segments := strings.Split(column[:i], ".") // a table, perhaps with its schema
		if segments[len(segments)-1] != (schema.NamingStrategy{}).TableName(m.name) {
			return place{}, false // a column of another table
		}
		column = column[i+1:]
	}
	if m.key != nil && column == columnName(m.key.Name()) {
		return m.keys(), true
	}
	keys, ok = p.column[m.path+"."+column]
	return keys, ok
}

// mapArguments returns the values in a map of conditions that are keys, such as id in
// map[string]any{"user_id": id}. e is the map; for other expressions, there is no value.
func (p *program) mapArguments(pkg *analysis.Pass, m model, e ast.Expr) (found []keyArgument) {
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, item := range lit.Elts {
		pair, ok := item.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if column, ok := constantText(pkg.TypesInfo, pair.Key); ok {
			if keys, ok := p.columnKeys(m, column); ok {
				found = append(found, keyArgument{pair.Value, keys})
			}
		}
	}
	return found
}

// columnArgument returns the second argument of a call such as Update("user_id", id), if the
// column holds keys. The call is at the cursor.
func (p *program) columnArgument(pkg *analysis.Pass, cursor inspector.Cursor) []keyArgument {
	call := cursor.Node().(*ast.CallExpr)
	if column, ok := constantText(pkg.TypesInfo, call.Args[0]); ok && len(call.Args) == 2 {
		if keys, ok := p.columnKeys(p.statementModel(pkg, cursor), column); ok {
			return []keyArgument{{call.Args[1], keys}}
		}
	}
	return nil
}

// statementModel returns the model of the statement to which a call of GORM belongs. The call
// is at the cursor, and is a part of a chain of calls such as db.Where("id = ?",
// id).First(&order). The model has no key if gormflake does not fill the key. If the chain
// does not show the model, the result is the zero model.
func (p *program) statementModel(pkg *analysis.Pass, cursor inspector.Cursor) model {
	// The model is in the call itself, in a call before it or in a call after it.
	t := p.chainModel(value{pkg: pkg, expr: cursor.Node().(ast.Expr)}, map[place]bool{})
	for call, method := methodCall(cursor); t == nil && method != ""; call, method = methodCall(call) {
		t = callModel(pkg, call.Node().(*ast.CallExpr))
	}
	m, _ := p.modelOf(t)
	return m
}

// chainModel returns the type of the model in a chain of calls of GORM, such as User for
// db.Model(&User{}).Where("id = ?", id), or nil. v is the last call of the chain, or a local
// variable to which a chain is assigned. Parameters are not followed, because the callers of
// a function may pass statements of several models. seen are the variables that chainModel
// has followed.
func (p *program) chainModel(v value, seen map[place]bool) types.Type {
	switch e := ast.Unparen(v.expr).(type) {
	case *ast.CallExpr:
		if t := callModel(v.pkg, e); t != nil {
			return t
		}
		if selector, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok {
			return p.chainModel(v.with(selector.X), seen)
		}
	case *ast.Ident:
		variable, ok := v.pkg.TypesInfo.ObjectOf(e).(*types.Var)
		if !ok || variable.Kind() != types.LocalVar || seen[placeOf(variable)] {
			return nil
		}
		seen[placeOf(variable)] = true // so that db = db.Where(…) ends
		for _, assigned := range p.values[placeOf(variable)] {
			if t := p.chainModel(assigned, seen); t != nil {
				return t
			}
		}
	}
	return nil
}

// callModel returns the type of the model that a call of GORM names, such as
// Model(&User{}), First(&user) or gorm.G[User](db), or nil.
func callModel(pkg *analysis.Pass, call *ast.CallExpr) types.Type {
	f := callee(pkg, call)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "gorm.io/gorm" {
		return nil
	}
	switch f.Name() {
	case "G":
		if named, ok := types.Unalias(pkg.TypesInfo.TypeOf(call)).(*types.Named); ok && named.TypeArgs().Len() == 1 {
			return named.TypeArgs().At(0)
		}
	case "Model", "First", "Take", "Last", "Find", "Delete", "FirstOrCreate", "FirstOrInit":
		if len(call.Args) > 0 {
			return structType(pkg.TypesInfo.TypeOf(call.Args[0]))
		}
	}
	return nil
}

// structType returns the struct Order for Order, *Order and []Order, or nil for a type that is
// not a struct, such as a map.
func structType(t types.Type) types.Type {
	t = element(t)
	if _, ok := t.Underlying().(*types.Struct); ok {
		return t
	}
	return nil
}
