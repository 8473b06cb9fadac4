package vet

import (
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/packages"
)

// Each rule reports the lines of its package in testdata that have a "want" comment, and
// no other line.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range rules {
		if rule == list {
			continue // TestUnknownList
		}
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), rule, "./"+rule.Name)
		})
	}
}

// The models of WithModels are found in each form in which a program can write the list, for
// example as a variable, a parameter or the result of a function. A list that is not passed to
// WithModels adds no model.
func TestLists(t *testing.T) {
	t.Parallel()
	p := learn(passes(loadTestdata(t, "./lists")))
	want := []string{"Appended", "Argument", "Field", "Joined", "Local", "New", "Nil", "Parameter", "Ranged", "Returned", "Value", "Variable"}
	var got []string
	for path := range p.listed {
		got = append(got, strings.TrimPrefix(path, "example/lists."))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("listed = %v, want %v", got, want)
	}
}

// The rule list reports a call of WithModels whose models it cannot find, as in package list
// of testdata, and none in package lists. The rule needs all packages of a program, so this
// test calls analyze as the command does, and TestRules leaves the rule out.
func TestUnknownList(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]int{"./lists": 0, "./list": 1} {
		found, err := analyze(loadTestdata(t, folder))
		found = slices.DeleteFunc(found, func(f finding) bool { return f.Rule != list.Name })
		if err != nil || len(found) != want {
			t.Errorf("%s: findings %v, error %v, want %d", folder, found, err, want)
		}
	}
}

// On a platform where an int has 32 bits, such as 386, the rules report keys that are parsed
// as an int or converted to an int. On amd64, where an int has 64 bits, they report nothing in
// the same package.
func TestWordSize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		arch string
		want []string
	}{
		{"amd64", nil},
		{"386", []string{"parsewidth", "parsewidth", "narrow"}},
	} {
		loaded := loadTestdata(t, "./wordsize")
		for _, pkg := range loaded {
			pkg.TypesSizes = types.SizesFor("gc", test.arch)
		}
		found, err := analyze(loaded)
		var got []string
		for _, f := range found {
			got = append(got, f.Rule)
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: rules = %v, error %v, want %v", test.arch, got, err, test.want)
		}
	}
}

// A folder without a package is an error, because a run in the wrong folder would otherwise
// seem to find no mistake.
func TestNoPackage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module empty\n\ngo 1.25\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t.Context(), folder, "", []string{"./..."}); err == nil || !strings.Contains(err.Error(), "no package matches ./...") {
		t.Errorf("error = %v, want that no package matches", err)
	}
}

// loadTestdata loads packages of testdata.
func loadTestdata(t *testing.T, patterns ...string) []*packages.Package {
	t.Helper()
	loaded, err := load(t.Context(), "testdata", "", patterns)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}
