package vet

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// narrow reports conversions of a key to a type that does not keep all digits, such as
// int32(order.ID).
var narrow = rule("narrow", "report keys that are converted to a type with fewer digits", func(pass *analysis.Pass, in *inspector.Inspector) {
	p := programOf(pass)
	for call := range inspector.All[*ast.CallExpr](in) {
		to := conversionType(pass, call)
		if to == nil || !isNarrow(pass, to) || pass.TypesInfo.Types[call].Value != nil { // constants are not keys
			continue
		}
		from := pass.TypesInfo.TypeOf(call.Args[0])
		if from == nil || basicKind(from) == types.Invalid || isNarrow(pass, from) {
			continue // if the value is narrow already, its digits were lost in another conversion
		}
		if keys, ok := p.keysOf(value{pkg: pass, expr: call.Args[0]}); ok {
			problem := fmt.Sprintf("%s has too few digits for %s", to, p.describe(keys))
			if basicKind(to) == types.Float64 {
				problem = fmt.Sprintf("%s keeps 53 bits of %s, which are enough for JSSafeLayout alone", to, p.describe(keys))
			}
			pass.Reportf(call.Pos(), "%s: %s", problem, keepAdvice(from))
		}
	}
})

// keepAdvice returns the advice to leave a key in its type t.
func keepAdvice(t types.Type) string {
	if isID(t) {
		return "keep the ID, or use its String"
	}
	return "keep " + t.String()
}

// isNarrow reports whether t is a number that cannot hold every ID. A float64 keeps only
// 53 bits, and an int has 32 bits on some platforms.
func isNarrow(pass *analysis.Pass, t types.Type) bool {
	kind := basicKind(t)
	if kind == types.Int || kind == types.Uint || kind == types.Uintptr {
		return pass.TypesSizes.Sizeof(t.Underlying()) < 8
	}
	return slices.Contains([]types.BasicKind{
		types.Int8, types.Int16, types.Int32, types.Uint8, types.Uint16, types.Uint32, types.Float32, types.Float64,
	}, kind)
}

// parseWidth reports calls such as strconv.ParseInt(s, 10, 32) whose result becomes a key. They
// return an error for keys with more bits.
var parseWidth = rule("parsewidth", "report keys that strconv reads with fewer than 64 bits", func(pass *analysis.Pass, in *inspector.Inspector) {
	p := programOf(pass)
	for call := range inspector.All[*ast.CallExpr](in) {
		bits := parsedBits(pass, call)
		keys, ok := p.intoKey[valueAt(call)] // whether the value of this call becomes a key
		if ok && bits < 64 {
			pass.Reportf(call.Pos(), "%s reads %s with %d bits, and returns an error for larger keys: use 64 bits", callee(pass, call).Name(), p.describe(keys), bits)
		}
	}
})

// parsedBits returns how many bits a call of strconv reads, such as 32 for
// strconv.ParseInt(s, 10, 32). It returns 64 for other calls, and if the bits are not a
// constant, so that the caller does not report them.
func parsedBits(pass *analysis.Pass, call *ast.CallExpr) int {
	f := callee(pass, call)
	bits := 0 // as in strconv, 0 stands for the bits of an int
	switch {
	case isFunc(f, "strconv", "Atoi"):
	case isFunc(f, "strconv", "ParseInt", "ParseUint") && len(call.Args) == 3 && pass.TypesInfo.Types[call.Args[2]].Value != nil:
		size, _ := constant.Int64Val(pass.TypesInfo.Types[call.Args[2]].Value)
		bits = int(size)
	default:
		return 64
	}
	if bits == 0 {
		bits = int(8 * pass.TypesSizes.Sizeof(types.Typ[types.Int]))
	}
	return bits
}
