package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// literal reports keys that are written as a number, such as 1 in db.First(&role, 1). New rows
// get large keys, so a row with key 1 exists only if a seed of the program creates it. literal
// does not report a number that a seed sets as a key of the same model. It leaves the numbers
// in seeds to the rule seed, and does not check tests.
var literal = rule("literal", "report keys that are written as a number, as in First(&user, 1)", func(pass *analysis.Pass, _ *inspector.Inspector) {
	for _, l := range literals(pass) {
		if !l.inSeed && !programOf(pass).setBySeed(l) {
			pass.Reportf(l.expr.Pos(), "key %s of %s is written as a number, but new rows get large keys: find the row by another column, or set this key in the seed that creates it", l.number, l.model.name)
		}
	}
})

// seed reports keys that are written as a number in seeds and migrations. If a seed sets the
// keys of many rows, seed reports only the first row of each model in a file.
var seed = rule("seed", "report keys that are written as a number in seeds and migrations", func(pass *analysis.Pass, _ *inspector.Inspector) {
	reported := map[string]bool{} // the models and files whose first row has been reported
	for _, l := range literals(pass) {
		modelAndFile := l.model.path + " " + pass.Fset.File(l.expr.Pos()).Name()
		switch {
		case !l.inSeed: // is for the rule literal
		case l.sets && !reported[modelAndFile]:
			reported[modelAndFile] = true
			pass.Reportf(l.expr.Pos(), "the seed sets keys of %s, here %s: this is correct if all of them are below 1,000,000, because no generator issues such keys, and if the seed sets the key of every row to which a number refers", l.model.name, l.number)
		case l.sets: // is a further row of this model and file
		case !programOf(pass).setBySeed(l):
			pass.Reportf(l.expr.Pos(), "key %s of %s is written as a number in a seed or migration: set it in the row that the seed creates, below 1,000,000, or find the row by another column", l.number, l.model.name)
		}
	}
})

// A literalKey is a key that is written as a number.
type literalKey struct {
	expr   ast.Expr
	number string // the digits
	model  model
	sets   bool // whether it is assigned to the key of a row; otherwise it is looked for or compared
	inSeed bool
}

// setBySeed reports whether a seed of the program, outside of tests, sets the key of a row of
// the model to the same number. The number then refers to this row.
func (p *program) setBySeed(l literalKey) bool {
	for _, v := range p.values[l.model.keys()] {
		// A value of a query looks for a row, and does not set its key.
		if !v.query && literalNumber(v) == l.number && isSeed(v) && !isTest(v) {
			return true
		}
	}
	return false
}

// literals returns the keys in a package, except in its tests, that are written as a number
// and are assigned, looked for or compared, in the order of their positions.
func literals(pass *analysis.Pass) (all []literalKey) {
	p := programOf(pass)
	add := func(v value, keys place, sets bool) { // if v is a literal, and the model is known
		if m, ok := p.models[keys]; ok && literalNumber(v) != "" && !isTest(v) {
			all = append(all, literalKey{v.expr, literalNumber(v), m, sets, isSeed(v)})
		}
	}
	// The numbers that go to keys, also by way of variables and parameters. Only a value that
	// is assigned to the keys themselves sets the key of a row.
	for at, keys := range p.intoKey {
		for _, v := range p.values[at] {
			if v.pkg.Pkg == pass.Pkg {
				add(v, keys, at == keys && !v.query)
			}
		}
	}
	// The numbers that are compared with keys, as in order.ID == 1.
	for _, pair := range comparisons(pass) {
		if keys, ok := p.keysOf(pair[0]); ok {
			add(pair[1], keys, false)
		}
	}
	slices.SortFunc(all, func(a, b literalKey) int { return int(a.expr.Pos() - b.expr.Pos()) })
	return all
}

// comparisons returns the pairs of values that a package compares by ==, != or switch. The
// caller looks for a key in the first value and a number in the second, so == and != yield
// their operands in both orders. A switch yields its tag with the value of each case.
func comparisons(pass *analysis.Pass) (pairs [][2]value) {
	add := func(a, b ast.Expr) {
		pairs = append(pairs, [2]value{{pkg: pass, expr: a}, {pkg: pass, expr: b}})
	}
	for node := range inspectorOf(pass).PreorderSeq((*ast.BinaryExpr)(nil), (*ast.SwitchStmt)(nil)) {
		switch node := node.(type) {
		case *ast.BinaryExpr:
			if node.Op == token.EQL || node.Op == token.NEQ {
				add(node.X, node.Y)
				add(node.Y, node.X)
			}
		case *ast.SwitchStmt:
			for _, clause := range node.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					if node.Tag != nil { // otherwise the cases are conditions
						add(node.Tag, e)
					}
				}
			}
		}
	}
	return pairs
}

// literalNumber returns the digits of v if it is a constant that a database could have
// assigned as a key, and "" otherwise. A constant from 2^22 on is probably a Snowflake ID,
// because 2^22 is the smallest ID of the default layout, one millisecond after its epoch.
func literalNumber(v value) string {
	number := v.pkg.TypesInfo.Types[v.expr].Value
	if number == nil || number.Kind() != constant.Int {
		return ""
	}
	if n, exact := constant.Int64Val(number); !exact || n <= 0 || n >= 1<<22 {
		return ""
	}
	return number.ExactString()
}

// seedName matches the names of packages, files, functions and types that seed or migrate
// a database.
var seedName = regexp.MustCompile(`(?i)seed|migrat|fixture|bootstrap|^init`)

// isSeed reports whether an expression is in a seed or migration. This is so if [seedName]
// matches the name of its package, its file or its function, or of the type if the function is
// a method. An example is func seedRoles.
func isSeed(v value) bool {
	file := filepath.Base(v.pkg.Fset.File(v.expr.Pos()).Name())
	if seedName.MatchString(v.pkg.Pkg.Name()) || seedName.MatchString(file) {
		return true
	}
	cursor, ok := inspectorOf(v.pkg).Root().FindByPos(v.expr.Pos(), v.expr.End())
	if !ok {
		return false
	}
	for function := range cursor.Enclosing((*ast.FuncDecl)(nil)) { // there is at most one
		decl := function.Node().(*ast.FuncDecl)
		return seedName.MatchString(decl.Name.Name) || seedName.MatchString(receiverName(v.pkg, decl))
	}
	return false
}

// receiverName returns the name of the type whose method decl is, or "" if it is a function
// without a receiver.
func receiverName(pass *analysis.Pass, decl *ast.FuncDecl) string {
	f, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return ""
	}
	if named, ok := derefType(f.Signature().Recv().Type()).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}
