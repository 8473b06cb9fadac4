package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// jsonMap reports IDs in JSON that is decoded without types.
var jsonMap = rule("jsonmap", "report IDs that are taken out of a map of JSON as a float64", func(pass *analysis.Pass, in *inspector.Inspector) {
	for assert := range inspector.All[*ast.TypeAssertExpr](in) {
		index, ok := ast.Unparen(assert.X).(*ast.IndexExpr)
		if !ok || assert.Type == nil || basicKind(pass.TypesInfo.TypeOf(assert.Type)) != types.Float64 || !importsGormflake(pass.Pkg) {
			continue
		}
		name := pass.TypesInfo.Types[index.Index].Value
		if name != nil && name.Kind() == constant.String && idName.MatchString(constant.StringVal(name)) {
			pass.Reportf(assert.Pos(), "%s as a float64: an ID is a string in JSON, and as a number it loses digits here: decode into a struct with a types.ID, or use Decoder.UseNumber", name)
		}
	}
})

// idName matches the names of JSON fields that hold IDs.
var idName = regexp.MustCompile(`^(id|ID)$|(_id|Id|ID)$`)

// importsGormflake reports whether the package imports gormflake. In other packages, an
// id is probably not a Snowflake ID.
func importsGormflake(pkg *types.Package) bool {
	return slices.ContainsFunc(pkg.Imports(), func(p *types.Package) bool { return p.Path() == module || p.Path() == idTypes })
}

// jsonString reports the option "string" of encoding/json on IDs, which only other
// integers need.
var jsonString = rule("jsonstring", `report fields of IDs with the option ",string" of encoding/json`, func(pass *analysis.Pass, in *inspector.Inspector) {
	for f := range inspector.All[*ast.Field](in) {
		if f.Tag == nil || !isID(element(pass.TypesInfo.TypeOf(f.Type))) {
			continue
		}
		_, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if slices.Contains(strings.Split(options, ","), "string") {
			pass.Reportf(f.Tag.Pos(), `remove ",string": an ID quotes itself, and some encoders would quote it twice`)
		}
	}
})
