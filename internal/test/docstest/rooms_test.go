package docstest

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goPackage is a package as go list prints it.
type goPackage struct {
	ImportPath, Name string
	Imports          []string
}

// TestRooms checks that packages that only tests import are below a folder internal/test,
// in every module, and that shipped packages import none of them. leasetest and
// gormflaketest are not internal, because users import these helpers for tests.
func TestRooms(t *testing.T) {
	t.Parallel()
	packages := listAll(t)
	shipped := map[string]bool{}
	for _, p := range packages {
		if !isTestRoom(p.ImportPath) {
			for _, imported := range p.Imports {
				shipped[imported] = true
			}
		}
	}
	internal := 0 // number of internal packages that ship
	for _, p := range packages {
		switch {
		case !strings.Contains(p.ImportPath, "/internal/") || p.Name == "main": // users import or run it
		case isTestRoom(p.ImportPath):
			if shipped[p.ImportPath] {
				t.Errorf("%s is imported by a package that ships", p.ImportPath)
			}
		case !shipped[p.ImportPath]:
			t.Errorf("%s is imported by tests alone: move it below internal/test", p.ImportPath)
		default:
			internal++
		}
	}
	if internal < 30 { // far fewer than there are, so go list has not found the packages
		t.Errorf("%d internal packages were found, want more", internal)
	}
}

// isTestRoom reports whether the package is for tests. All packages of a module that
// contains only tests are for tests, such as integrations and bench.
func isTestRoom(path string) bool {
	const module = "github.com/gormflake/gormflake/"
	return strings.Contains(path+"/", "/internal/test/") ||
		strings.HasPrefix(path, module+"integrations") || strings.HasPrefix(path, module+"bench") ||
		path == module+"lease/leasetest"
}

// listAll returns the packages of all modules, without their tests.
func listAll(t *testing.T) (packages []goPackage) {
	t.Helper()
	var modules []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if entry.Name() == "go.mod" {
			modules = append(modules, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(modules) < 10 {
		t.Fatalf("modules %q: %v", modules, err)
	}
	for _, module := range modules {
		// With -e, go list does not fail if the dependencies of a module are missing.
		list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Imports", "./...")
		list.Dir = module
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v", module, err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(out)))
		for {
			var p goPackage
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			packages = append(packages, p)
		}
	}
	return packages
}
