package integrations_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunc   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	libraryRow = regexp.MustCompile(`(?m)^- (.*?): .*?((?:\((` + "`[^`]*`(?:, )?" + `)+\))?)$`)
	rowTest    = regexp.MustCompile("`(?:([a-z/]+)\\.)?(Test\\w+)`")
	quoted     = regexp.MustCompile("`([^`]+)`")
	fragment   = regexp.MustCompile("(?ms)^```(?:go|yaml)\n(.*?)^```$")
)

// TestPage compares docs/integrations.md with the tests: each row has a test that
// imports its libraries, each test a row, and each fragment stands in this module.
func TestPage(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../docs/integrations.md")
	sources := map[string]string{} // by test
	var all strings.Builder
	for _, file := range sourceFiles(t) {
		source := readFile(t, file)
		all.WriteString(source)
		for _, found := range testFunc.FindAllStringSubmatch(source, -1) {
			sources[found[1]] = source
		}
	}
	delete(sources, "TestPage")
	delete(sources, "TestManifests") // no library, but files of this repository
	unused := checkRows(t, page, sources)
	for _, test := range unused {
		t.Errorf("docs/integrations.md has no row for %s", test)
	}
	for _, block := range fragment.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(flat(all.String()), flat(block[1])) {
			t.Errorf("this module does not have this fragment of docs/integrations.md:\n%s", block[1])
		}
	}
}

// checkRows checks the rows of the page, and returns the tests that have none.
func checkRows(t *testing.T, page string, sources map[string]string) (unused []string) {
	t.Helper()
	for test := range sources {
		unused = append(unused, test)
	}
	libraries, _, _ := strings.Cut(page, "## Optional IDs")
	for _, row := range libraryRow.FindAllStringSubmatch(libraries, -1) {
		tests := rowTest.FindAllStringSubmatch(row[2], -1)
		if len(tests) == 0 {
			t.Errorf("%s: want a test", row[0])
		}
		for _, found := range tests {
			source, exists := sources[found[2]]
			if found[1] != "" {
				source = readFile(t, filepath.Join("..", found[1], "main.go"))
			} else if !exists {
				t.Errorf("%s: there is no test %s", row[0], found[2])
			}
			checkImports(t, row[1], source)
			unused = slices.DeleteFunc(unused, func(test string) bool { return test == found[2] })
		}
	}
	slices.Sort(unused)
	return unused
}

// checkImports looks for the libraries of a row among the imports of its test.
func checkImports(t *testing.T, libraries, source string) {
	t.Helper()
	for _, library := range quoted.FindAllStringSubmatch(libraries, -1) {
		if !strings.Contains(source, `"`+library[1]) {
			t.Errorf("the test of %s does not import it", library[1])
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// sourceFiles are the module's own, and the configurations of generators.
func sourceFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if slices.Contains([]string{".go", ".yml", ".yaml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return files
}

// flat returns the source without the blanks that differ by how deep it stands.
func flat(source string) string { return strings.Join(strings.Fields(source), " ") }
