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

// columnName returns GORM's name for the column of a field.
func columnName(field string) string { return schema.NamingStrategy{}.ColumnName("", field) }

// findQueries records the arguments of queries in a package that are keys.
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
	keys place
}

// keyArguments returns the arguments of a call of GORM that are keys.
func (p *program) keyArguments(pkg *analysis.Pass, cursor inspector.Cursor) []keyArgument {
	call := cursor.Node().(*ast.CallExpr)
	f := callee(pkg, call)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != "gorm.io/gorm" || len(call.Args) == 0 || f.Signature().Recv() == nil {
		return nil
	}
	query := call.Args
	switch f.Name() {
	case "First", "Take", "Last", "Find", "Delete":
		query = call.Args[1:] // after the destination
	case "Where", "Or", "Not", "Having", "Raw", "Exec":
	case "Update", "UpdateColumn":
		return p.columnArgument(pkg, cursor)
	default:
		return nil
	}
	if len(query) == 0 {
		return nil
	}
	m := p.statementModel(pkg, cursor)
	text, isText := constantText(pkg.TypesInfo, query[0])
	switch {
	case isText:
		return p.placeholders(m, text, query[1:])
	case m.key != nil && holdsNumber(pkg.TypesInfo.TypeOf(query[0])) && len(query) == 1:
		return []keyArgument{{query[0], m.keys()}}
	}
	return p.conditions(pkg, m, query[0])
}

// constantText returns the value of a constant string.
func constantText(info *types.Info, e ast.Expr) (text string, ok bool) {
	v := info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// beforePlaceholder matches the text before a placeholder that is compared with a column.
var beforePlaceholder = regexp.MustCompile("(?i)([\\w.`\"]+)\\s*(?:=|<>|!=|<=|>=|<|>|\\bIN|\\bNOT\\s+IN)\\s*\\(?\\s*$")

// placeholders returns the arguments for placeholders that are compared with keys, as in
// "id = ?".
func (p *program) placeholders(m model, query string, args []ast.Expr) (found []keyArgument) {
	parts := strings.Split(query, "?")
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

// columnKeys returns the keys that a column holds in the statements of a model. These are
// the model's own keys, or the keys to which a foreign key refers.
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

// conditions returns the keys in a map of conditions.
func (p *program) conditions(pkg *analysis.Pass, m model, e ast.Expr) (found []keyArgument) {
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

// columnArgument returns the key of a call such as Update("user_id", id).
func (p *program) columnArgument(pkg *analysis.Pass, cursor inspector.Cursor) []keyArgument {
	call := cursor.Node().(*ast.CallExpr)
	if column, ok := constantText(pkg.TypesInfo, call.Args[0]); ok && len(call.Args) == 2 {
		if keys, ok := p.columnKeys(p.statementModel(pkg, cursor), column); ok {
			return []keyArgument{{call.Args[1], keys}}
		}
	}
	return nil
}

// statementModel returns the model of the statement to which a call of GORM belongs. It
// has no key if gormflake does not fill the key, and no path if the model is unknown.
func (p *program) statementModel(pkg *analysis.Pass, cursor inspector.Cursor) model {
	t := p.chainModel(value{pkg: pkg, expr: cursor.Node().(ast.Expr)}, map[place]bool{})
	for call, method := methodCall(cursor); t == nil && method != ""; call, method = methodCall(call) {
		t = callModel(pkg, call.Node().(*ast.CallExpr))
	}
	m, _ := p.modelOf(t)
	return m
}

// chainModel returns the type of the model of a chain of calls of GORM that ends with an
// expression, or nil. It follows local variables that hold a *gorm.DB, but no parameters,
// because the callers of a function may pass statements of several models. seen are the
// variables that it has followed.
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
		seen[placeOf(variable)] = true // as in db = db.Where(…)
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

// structType returns the struct of a model or of a slice of models, or nil.
func structType(t types.Type) types.Type {
	t = element(t)
	if _, ok := t.Underlying().(*types.Struct); ok {
		return t
	}
	return nil
}
