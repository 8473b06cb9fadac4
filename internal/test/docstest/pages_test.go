package docstest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// document is a page for readers of the repository.
type document struct{ path, text string }

// pages returns the READMEs, the pages under docs and the pages for maintainers.
func pages(t *testing.T) []document {
	t.Helper()
	var pages []document
	for _, pattern := range []string{"README*.md", "docs/*.md", "lease/README.md", "lease/*/README.md", "internal/README.md", evidence} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, document{filepath.ToSlash(path), string(text)})
		}
	}
	return pages
}

// evidence is the page that names the functions and tests for each promise of the pages.
const evidence = "internal/test/docstest/evidence.md"

// fence matches a block of code, link the target of a link, and code a span of code.
var (
	fence = regexp.MustCompile("(?ms)^```.*?^```$")
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code  = regexp.MustCompile("`[^`\n]+`")
)

// prose returns the page without code, because code contains no links.
func (p document) prose() string {
	return code.ReplaceAllString(fence.ReplaceAllString(p.text, ""), "")
}

// TestLinksInPages checks that links to files and headings of the repository lead somewhere.
func TestLinksInPages(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(p.prose(), -1) {
			if err := p.follow(found[1]); err != nil {
				t.Errorf("%s: %v", p.path, err)
			}
		}
	}
}

// follow returns an error if a link of the page leads nowhere. It does not follow links to
// web sites.
func (p document) follow(target string) error {
	if strings.Contains(target, "://") {
		return nil
	}
	path, anchor, _ := strings.Cut(target, "#")
	text := p.text
	if path != "" {
		path = filepath.Join(filepath.Dir(p.path), path)
		if _, err := os.Stat(path); err != nil || anchor == "" {
			return err
		}
		other, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = string(other)
	}
	if anchor != "" && !slices.Contains(anchors(text), anchor) {
		return fmt.Errorf("%s: no heading has this anchor", target)
	}
	return nil
}

// heading matches a heading, and its text.
var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) []string {
	var names []string
	seen := map[string]int{}
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := anchor(h[1])
		if n := seen[name]; n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		seen[anchor(h[1])]++
		names = append(names, name)
	}
	return names
}

// anchor returns the name that GitHub gives to a heading that is the first with its text.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// testName matches a test that a page names, with its folder if the page gives one.
// testFunc matches the declaration of a test.
var (
	testName = regexp.MustCompile("`(?:([a-z0-9/]+)\\.)?((?:Test|Fuzz)[A-Z]\\w*)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestTestsNamedInPages checks that every test exists that a page names, as `TestIt` or
// as `folder.TestIt`. The folder of the root is called gormflake.
func TestTestsNamedInPages(t *testing.T) {
	t.Parallel()
	exists := testsOfRepository(t)
	for _, p := range pages(t) {
		for _, found := range testName.FindAllStringSubmatch(p.text, -1) {
			folders := exists[found[2]]
			if len(folders) == 0 || found[1] != "" && !slices.Contains(folders, found[1]) {
				t.Errorf("%s names %s, which is in the folders %v", p.path, found[0], folders)
			}
		}
	}
}

// testsOfRepository returns the folders of each test, by the name of the test.
func testsOfRepository(t *testing.T) map[string][]string {
	t.Helper()
	exists := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		if folder == "." {
			folder = "gormflake"
		}
		for _, f := range testFunc.FindAllSubmatch(source, -1) {
			exists[string(f[1])] = append(exists[string(f[1])], folder)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return exists
}

// fault matches a heading of docs/guarantees.md that describes a fault, and its text.
var fault = regexp.MustCompile(`(?m)^### (.+)$`)

// TestEvidence checks that evidence has a row for each fault that docs/guarantees.md
// describes.
func TestEvidence(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile(evidence)
	if err != nil {
		t.Fatal(err)
	}
	_, faults, _ := strings.Cut(string(page), "\n## The process\n")
	found := fault.FindAllStringSubmatch(faults, -1)
	for _, f := range found {
		if !strings.Contains(string(rows), "/guarantees.md#"+anchor(f[1])+")") {
			t.Errorf("%s has no row for %q", evidence, f[1])
		}
	}
	if len(found) == 0 {
		t.Error("docs/guarantees.md describes no fault")
	}
}

// namedFunc matches a function that a page names with a link to its file. The groups are
// the name and the path.
var namedFunc = regexp.MustCompile("`(\\w+)` \\(\\[[^]]+\\]\\(([^)]+\\.go)\\)\\)")

// TestFunctionsNamedInPages checks that each linked file contains the function that a
// page names before the link.
func TestFunctionsNamedInPages(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range pages(t) {
		for _, found := range namedFunc.FindAllStringSubmatch(p.text, -1) {
			checked++
			source, err := os.ReadFile(filepath.Join(filepath.Dir(p.path), found[2]))
			if err != nil {
				t.Errorf("%s: %v", p.path, err)
				continue
			}
			if !regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + found[1] + `\b`).Match(source) {
				t.Errorf("%s: %s has no function %s", p.path, found[2], found[1])
			}
		}
	}
	if checked == 0 {
		t.Error("no page names a function")
	}
}

// goCommand matches a command of go that runs or tests a folder. The groups are the folder
// of -C, if any, and the package. makeCommand matches a command of make, and its target.
var (
	goCommand   = regexp.MustCompile(`\bgo (?:-C (\S+) )?(?:run|test)(?: -\S+)* (\./[\w/.-]+|\.)`)
	makeCommand = regexp.MustCompile("(?m)(?:`|^    |^)make ([a-z-]+)")
)

// TestCommandsInPages checks that the folders and targets in commands exist. The tests of
// these folders run the commands.
func TestCommandsInPages(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		for _, found := range goCommand.FindAllStringSubmatch(p.text, -1) {
			folder := filepath.Join(found[1], strings.TrimSuffix(found[2], "..."))
			if folder == "shop" && strings.HasPrefix(p.path, "README") {
				continue // the reader saves the program there, and TestReadme runs it
			}
			if files, err := os.ReadDir(folder); err != nil || len(files) == 0 {
				t.Errorf("%s: %s: %v", p.path, found[0], err)
			}
		}
		for _, found := range makeCommand.FindAllStringSubmatch(p.text, -1) {
			if !strings.Contains(string(makefile), "\n"+found[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", p.path, found[1])
			}
		}
	}
}

// comment matches a comment of Go.
var comment = regexp.MustCompile(`(?m)(^|\s)//.*$`)

// TestGoInPages runs every program of the pages, except that it only builds servers, and
// compiles every fragment. It compiles a fragment once if a page and its translation
// differ only in comments. TestReadme runs the READMEs' programs and checks their output.
// integrations.TestPage checks that tests contain the fragments of docs/integrations.md.
func TestGoInPages(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range pages(t) {
		if p.path == "docs/integrations.md" {
			continue
		}
		for i, block := range goBlock.FindAllStringSubmatch(p.text, -1) {
			source := withOrders(p, block[1])
			code := comment.ReplaceAllString(source, "")
			program := strings.HasPrefix(source, "package main\n")
			if seen[code] || program && strings.HasPrefix(p.path, "README") {
				continue
			}
			seen[code] = true
			t.Run(fmt.Sprintf("%s/%d", p.path, i+1), func(t *testing.T) {
				t.Parallel()
				switch {
				case !program:
					compileFragment(t, source)
				case strings.Contains(source, "ListenAndServe"):
					buildProgram(t, []byte(source))
				default:
					runProgram(t, []byte(source))
				}
			})
		}
	}
}

// module is the path of the module, with which the paths of its packages begin.
const module = "github.com/gormflake/gormflake"

// structType matches the declaration of a struct. lineStart matches the start of each line.
var (
	structType = regexp.MustCompile(`(?ms)^type \w+ struct \{\n.*?^\}\n`)
	lineStart  = regexp.MustCompile(`(?m)^`)
)

// withOrders makes a fragment of a README that uses the variable orders compile. It puts the
// fragment into a function with the parameters tx and orders, and adds the types of the README's
// program. Such a fragment declares err, which "_ = err" uses. withOrders returns every other
// fragment unchanged.
func withOrders(p document, fragment string) string {
	types := strings.Join(structType.FindAllString(p.text, -1), "")
	if !strings.HasPrefix(p.path, "README") || declares(fragment) || !strings.Contains(fragment, "&orders") {
		return fragment
	}
	return fmt.Sprintf("%sfunc _(tx *gorm.DB, orders []Order) {\n%s\t_ = err\n}\n", types, lineStart.ReplaceAllString(fragment, "\t"))
}

// imports are the packages that a fragment may use without importing them.
var imports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "log": "log", "slog": "log/slog",
	"filepath": "path/filepath", "os": "os", "testing": "testing", "time": "time", "json": "encoding/json", "sql": "database/sql", "signal": "os/signal", "strconv": "strconv", "strings": "strings", "syscall": "syscall",
	"gorm": "gorm.io/gorm", "clause": "gorm.io/gorm/clause", "schema": "gorm.io/gorm/schema",
	"sqlite": "gorm.io/driver/sqlite", "mysql": "gorm.io/driver/mysql", "postgres": "gorm.io/driver/postgres",
	"gormflaketest": module + "/gormflaketest",
	"gormflake":     module, "types": module + "/types", "snowflake": module + "/snowflake",
	"lease": module + "/lease", "sqllease": module + "/lease/sqllease", "sqlmigrate": module + "/sqlmigrate",
	"serial": module + "/serial", "redislease": module + "/lease/redislease",
	"etcdlease": module + "/lease/etcdlease", "zklease": module + "/lease/zklease",
	"promcollector": module + "/promcollector", "prometheus": "github.com/prometheus/client_golang/prometheus",
	"promhttp": "github.com/prometheus/client_golang/prometheus/promhttp",
	"redis":    "github.com/redis/go-redis/v9", "clientv3": "go.etcd.io/etcd/client/v3", "zk": "github.com/go-zookeeper/zk",
}

// qualifier matches the name of a package before a name of the package. topLevel matches a
// line of declarations: the beginning of one, a line inside it, or its end. unused matches
// the compiler's lines about unused variables, and the headings of its output.
var (
	qualifier = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)
	topLevel  = regexp.MustCompile(`^(?:type|func|var|const|import)\b|^[\s/})]|^$`)
	unused    = regexp.MustCompile(`(?m)^(#.*|.*declared and not used: .*)\n`)
)

// compileFragment compiles part of a program, which is declarations, or statements that
// may use ctx, db, dsn, gen, l, layout, store and err. The fragment may leave variables
// unused.
func compileFragment(t *testing.T, fragment string) {
	t.Helper()
	var source strings.Builder
	source.WriteString("package fragment\n")
	dir := "."
	if !strings.HasPrefix(fragment, "import ") { // otherwise the fragment has all its imports
		dir = importFor(&source, fragment)
	}
	if declares(fragment) {
		source.WriteString(fragment)
	} else {
		fmt.Fprintf(&source, fragmentTemplate, fragment)
	}
	file := filepath.Join(t.TempDir(), "fragment.go")
	if err := os.WriteFile(file, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-gcflags=-e", "-o", os.DevNull, file)
	build.Dir = dir
	out, err := build.CombinedOutput()
	if err != nil && strings.TrimSpace(unused.ReplaceAllString(string(out), "")) != "" {
		t.Errorf("%v\n%s\n%s", err, out, source.String())
	}
}

// declares reports whether all lines that are not indented are declarations.
func declares(fragment string) bool {
	for line := range strings.Lines(fragment) {
		if !topLevel.MatchString(line) {
			return false
		}
	}
	return true
}

// fragmentTemplate declares the names that the statements of a fragment may use. Its
// imports have names of their own, so that they do not collide with those of importFor.
const fragmentTemplate = `
import (
	givenContext "context"
	givenGORM "gorm.io/gorm"
	givenLease "github.com/gormflake/gormflake/lease"
	givenSnowflake "github.com/gormflake/gormflake/snowflake"
)

func _(ctx givenContext.Context, db *givenGORM.DB, dsn string, gen *givenSnowflake.Generator, l *givenLease.Lease, layout givenSnowflake.Layout, store givenLease.Store, err error) {
	{
%s	}
}
`

// importFor imports the packages that the fragment's qualifiers name. It returns the
// folder of the module that requires them.
func importFor(source *strings.Builder, fragment string) (dir string) {
	dir = "."
	var imported []string
	for _, q := range qualifier.FindAllStringSubmatch(fragment, -1) {
		path, known := imports[q[1]]
		if !known || slices.Contains(imported, path) {
			continue
		}
		imported = append(imported, path)
		fmt.Fprintf(source, "import %s %q\n", q[1], path)
		// Some packages of the repository are modules of their own.
		if inside, ok := strings.CutPrefix(path, module+"/"); ok {
			if _, err := os.Stat(filepath.Join(inside, "go.mod")); err == nil {
				dir = inside
			}
		}
	}
	return dir
}

// moduleVersion matches another library and the version to which a claim applies.
var moduleVersion = regexp.MustCompile("`((?:github\\.com|gorm\\.io)/[^`]+)` (v\\d+\\.\\d+\\.\\d+)")

// TestVersionsInPages checks that claims about other libraries name the versions that
// bench/claims runs.
func TestVersionsInPages(t *testing.T) {
	t.Parallel()
	benchMod, err := os.ReadFile("bench/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		for _, found := range moduleVersion.FindAllStringSubmatch(p.text, -1) {
			if !strings.Contains(string(benchMod), "\t"+found[1]+" "+found[2]+"\n") {
				t.Errorf("%s: bench/go.mod does not have %s", p.path, found[0])
			}
		}
	}
}
