package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// jsonMap reports assertions such as m["user_id"].(float64), which read an ID from JSON that
// was decoded into a map. A float64 keeps only 53 bits of a number.
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

// idName matches the names of JSON fields that hold IDs, such as id, user_id and userId.
var idName = regexp.MustCompile(`^(id|ID)$|(_id|Id|ID)$`)

// importsGormflake reports whether the package imports gormflake. In other packages, an
// id is probably not a Snowflake ID.
func importsGormflake(pkg *types.Package) bool {
	return slices.ContainsFunc(pkg.Imports(), func(p *types.Package) bool { return p.Path() == module || p.Path() == idTypes })
}

// jsonString reports fields of type types.ID with the option "string" of encoding/json, as in
// json:"id,string". An ID is a string in JSON without this option.
var jsonString = rule("jsonstring", `report fields of IDs with the option ",string" of encoding/json`, func(pass *analysis.Pass, in *inspector.Inspector) {
	for f := range inspector.All[*ast.Field](in) {
		if f.Tag == nil || !isID(element(pass.TypesInfo.TypeOf(f.Type))) {
			continue
		}
		_, options, _ := strings.Cut(tagOf(f).Get("json"), ",")
		if slices.Contains(strings.Split(options, ","), "string") {
			pass.Reportf(f.Tag.Pos(), `remove ",string": an ID quotes itself, and some encoders would quote it twice`)
		}
	}
})

// jsonFloat reports values of type any that become keys after they were read as a float64, by
// an assertion or in a type switch. In JSON that is decoded without types, each number is a
// float64, which keeps only 53 bits.
var jsonFloat = rule("jsonfloat", "report keys that are taken out of JSON as a float64", func(pass *analysis.Pass, in *inspector.Inspector) {
	p := programOf(pass)
	report := func(at ast.Node, keys place) {
		pass.Reportf(at.Pos(), "%s as a float64 keeps 53 bits, which are enough for JSSafeLayout alone: decode the JSON into a struct, or by Decoder.UseNumber", p.describe(keys))
	}
	for node := range in.PreorderSeq((*ast.TypeAssertExpr)(nil), (*ast.CaseClause)(nil)) {
		switch node := node.(type) {
		case *ast.TypeAssertExpr: // value.(float64)
			if node.Type != nil && basicKind(pass.TypesInfo.TypeOf(node.Type)) == types.Float64 {
				if keys, ok := p.intoKey[valueAt(node)]; ok {
					report(node, keys)
				}
			}
		case *ast.CaseClause: // case float64 in switch v := value.(type), which declares v implicitly
			variable, ok := pass.TypesInfo.Implicits[node].(*types.Var)
			if !ok || basicKind(variable.Type()) != types.Float64 {
				continue
			}
			if keys, ok := p.intoKey[placeOf(variable)]; ok {
				report(node, keys)
			}
		}
	}
})

// request reports fields of structs into which requests are decoded, if the field becomes a
// key and cannot read every key.
var request = rule("request", "report fields of requests that become keys, but cannot read them", func(pass *analysis.Pass, in *inspector.Inspector) {
	p := programOf(pass)
	for cursor := range in.Root().Preorder((*ast.Field)(nil)) {
		f := cursor.Node().(*ast.Field)
		if f.Tag == nil {
			continue
		}
		tag := tagOf(f)
		for _, name := range f.Names {
			if variable, ok := pass.TypesInfo.Defs[name].(*types.Var); ok {
				p.reportRequest(pass, variable, tag)
			}
		}
	}
})

// reportRequest reports a field of a struct if the field reads a key from JSON or from a form,
// and its type is a number that is too narrow or cannot read the JSON of a types.ID. This JSON
// is a string such as "1", which an integer reads only with the option "string". A form has the
// digits without quotes, which an integer reads. tag is the tag of the field.
func (p *program) reportRequest(pass *analysis.Pass, f *types.Var, tag reflect.StructTag) {
	keys, ok := p.intoKey[placeOf(f)]
	if !ok || basicKind(element(f.Type())) == types.Invalid || isID(element(f.Type())) {
		return
	}
	name, options, hasOptions := strings.Cut(tag.Get("json"), ",") // json:",omitempty" has options without a name
	hasName := name != "" && name != "-"
	isDecoded := hasName || hasOptions || tag.Get("form") != "" || tag.Get("uri") != ""
	_, intoID := p.intoID[placeOf(f)] // whether the key is a types.ID
	switch {
	case !isDecoded: // is not a field of a request
	case isNarrow(pass, element(f.Type())):
		pass.Reportf(f.Pos(), "%s is read from a request as %s, which has too few digits for %s: use 64 bits, or the type of the key", f.Name(), f.Type(), p.describe(keys))
	case intoID && hasName && !slices.Contains(strings.Split(options, ","), "string"):
		pass.Reportf(f.Pos(), `%s becomes %s and is %s: JSON sends the key as the string "1", which this type cannot read: use types.ID`, f.Name(), p.describe(keys), f.Type())
	}
}

// claim reports fields of tokens and sessions that hold keys of type types.ID. During a
// deployment, programs of the old version still read a number there, and reject the string
// that a types.ID is in JSON. claim does not report models of GORM, such as a table of
// sessions, because the column of a table holds the ID as a number.
var claim = rule("claim", "report fields of tokens and sessions that hold a types.ID, which old programs read", func(pass *analysis.Pass, in *inspector.Inspector) {
	for spec := range inspector.All[*ast.TypeSpec](in) {
		named, ok := pass.TypesInfo.Defs[spec.Name].(*types.TypeName)
		if !ok {
			continue
		}
		s, ok := named.Type().Underlying().(*types.Struct)
		if !ok || !isClaims(named.Name(), s) || isTable(s) {
			continue
		}
		for i := range s.NumFields() {
			programOf(pass).reportClaim(pass, s.Field(i), reflect.StructTag(s.Tag(i)))
		}
	}
})

// claimsName matches the names of structs that are kept in tokens or sessions, such as
// UserClaims, Session, TokenPayload and jwtData.
var claimsName = regexp.MustCompile(`(?i)(claims?|session|token|jwt)(data|info|payload)?$`)

// isClaims reports whether a struct is kept in tokens or sessions, by its name or because
// it embeds the claims of a library, such as jwt.RegisteredClaims.
func isClaims(name string, s *types.Struct) bool {
	if claimsName.MatchString(name) {
		return true
	}
	for f := range s.Fields() {
		if f.Embedded() && strings.HasSuffix(f.Name(), "Claims") {
			return true
		}
	}
	return false
}

// reportClaim reports a field of a token or session if it has the type types.ID and keys are
// assigned to it. tag is the tag of the field.
func (p *program) reportClaim(pass *analysis.Pass, f *types.Var, tag reflect.StructTag) {
	keys, ok := p.fromID[placeOf(f)]
	if !ok || !f.Exported() || tag.Get("json") == "-" {
		return
	}
	if isID(element(f.Type())) {
		pass.Reportf(f.Pos(), `%s puts %s into tokens as the string "1", where old programs read the number 1 and answer 401: keep the number, id.Int64(), while old programs run, or use another name for the token`, f.Name(), p.describe(keys))
	}
}

// isTable reports whether a struct is a model of GORM, because a field has the tag gorm or
// snowflake, or the struct embeds a Model. claim skips such a struct even if its name is Session,
// because the column of a table holds the ID as a number.
func isTable(s *types.Struct) bool {
	for i := range s.NumFields() {
		tag := reflect.StructTag(s.Tag(i))
		if f := s.Field(i); tag.Get("gorm") != "" || tag.Get("snowflake") != "" || f.Embedded() && f.Name() == "Model" {
			return true
		}
	}
	return false
}

// tagOf returns the tag of a field. The field must have a tag.
func tagOf(f *ast.Field) reflect.StructTag {
	text, _ := strconv.Unquote(f.Tag.Value) // the parser has accepted the literal
	return reflect.StructTag(text)
}
