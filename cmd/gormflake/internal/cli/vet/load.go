package vet

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/packages"
)

// load returns the packages that match the patterns, such as ./..., and their tests. It reads
// the source of these packages. Of packages that they import, it only reads the types, from
// compiled files. tags are build tags, with commas between them. load runs the go command in
// the folder, so that the patterns are for the module there; "" is the current folder. It
// returns an error if no package matches, or if a package has an error, for example because it
// does not compile.
func load(ctx context.Context, folder, tags string, patterns []string) ([]*packages.Package, error) {
	config := &packages.Config{
		Context: ctx,
		Dir:     folder,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
		Fset:  token.NewFileSet(),
		Tests: true,
	}
	if tags != "" {
		config.BuildFlags = []string{"-tags=" + tags}
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, fmt.Errorf("cannot load the packages, by the go command: %w", err)
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no package matches %s: run vet in the folder of a Go module", strings.Join(patterns, " "))
	}
	var errs []error
	seen := map[string]bool{} // because the test variant of a package repeats its errors
	for _, pkg := range loaded {
		for _, err := range pkg.Errors {
			if !seen[err.Error()] {
				seen[err.Error()] = true
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("cannot load the packages: %w", errors.Join(errs...))
	}
	return loaded, nil
}

// analyze runs the rules on the packages and returns the findings. It learns one program
// from all packages, so that a rule knows the models of the other packages too. It returns a
// finding once, even if the file belongs to a package and to the package's test variant.
func analyze(loaded []*packages.Package) ([]finding, error) {
	var found []finding
	seen := map[finding]bool{}
	all := passes(loaded)
	p := learn(all)
	p.complete = true
	for _, base := range all {
		base.ResultOf[keys] = p // where rules look for the program
		for _, rule := range rules {
			pass := *base // a copy for each rule, because the analyzer and Report differ
			pass.Analyzer = rule
			pass.Report = func(d analysis.Diagnostic) {
				at := base.Fset.Position(d.Pos)
				f := finding{rule.Name, base.Pkg.Path(), relative(at.Filename), at.Line, at.Column, d.Message}
				if !seen[f] {
					seen[f] = true
					found = append(found, f)
				}
			}
			if _, err := rule.Run(&pass); err != nil {
				return nil, fmt.Errorf("rule %s in %s: %w", rule.Name, base.Pkg.Path(), err)
			}
		}
	}
	return found, nil
}

// passes returns an [analysis.Pass], the form in which an analyzer reads a package, for each
// package except the main packages that go test generates. Their IDs end in ".test".
func passes(loaded []*packages.Package) (all []*analysis.Pass) {
	for _, pkg := range loaded {
		if !strings.HasSuffix(pkg.ID, ".test") {
			all = append(all, passOf(pkg))
		}
	}
	return all
}

// passOf returns the pass of a package. It lacks the fields Analyzer and Report, which are
// different for each rule.
func passOf(pkg *packages.Package) *analysis.Pass {
	return &analysis.Pass{
		Fset:       pkg.Fset,
		Files:      pkg.Syntax,
		Pkg:        pkg.Types,
		TypesInfo:  pkg.TypesInfo,
		TypesSizes: pkg.TypesSizes,
		ResultOf:   map[*analysis.Analyzer]any{inspect.Analyzer: inspector.New(pkg.Syntax)},
	}
}
