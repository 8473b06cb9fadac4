// Package migratetest has what the tests of sqlmigrate and of its databases share:
// plans that are kept in testdata, so that a change of one is seen.
//
// A few are kept whole. Of the others testdata/plans.txt has a line each, with the
// test that makes it, the server, and hashes of its text, its JSON and the files of
// migration tools. What differs shows
//
//	go test -plans DIR
//
// before and after a change, and diff -r. With -update they are written again: all of
// them, or with -run too those that are new.
package migratetest

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
)

var (
	update = flag.Bool("update", false, "write the plans in testdata again")
	plans  = flag.String("plans", "", "a folder to which the plans are written whole")
)

// Plan wants the test's first plan to be one that it made when testdata was written.
// Others may depend on when something was stopped.
func Plan(t testing.TB, db *gorm.DB, p *sqlmigrate.Plan) {
	t.Helper()
	if isFirst(t) {
		compare(t, db, PlanText(t, p))
	}
}

// Online does the same for an online plan.
func Online(t testing.TB, db *gorm.DB, p *sqlmigrate.OnlinePlan) {
	t.Helper()
	if isFirst(t) {
		compare(t, db, OnlineText(t, p))
	}
}

// Whole compares text with the whole file NAME in testdata.
func Whole(t testing.TB, db *gorm.DB, name, text string) {
	t.Helper()
	text = "server: " + server(t, db) + "\n" + random.ReplaceAllString(text, "RANDOM")
	file := filepath.Join("testdata", name)
	if *update {
		write(t, file, text)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text == string(want) {
		return
	}
	if first, _, _ := strings.Cut(string(want), "\n"); !strings.HasPrefix(text, first+"\n") {
		t.Skipf("%s is of another %s", file, first)
	}
	t.Errorf("%s differs:\n%s", file, testdb.Diff(string(want), text))
}

var golden struct {
	sync.Mutex

	tests map[string]bool // that run, and have made a plan
	lines map[string]bool // of plans.txt
}

func isFirst(t testing.TB) bool {
	golden.Lock()
	defer golden.Unlock()
	if golden.lines == nil {
		golden.tests, golden.lines = map[string]bool{}, readLines(t)
	}
	if golden.tests[t.Name()] {
		return false
	}
	golden.tests[t.Name()] = true
	t.Cleanup(func() { // it may run again
		golden.Lock()
		defer golden.Unlock()
		delete(golden.tests, t.Name())
	})
	return true
}

func compare(t testing.TB, db *gorm.DB, parts []string) {
	t.Helper()
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		return // the tests have larger schemas
	}
	// The last part of a name may be one of many places where the test is stopped.
	names := strings.Split(t.Name(), "/")
	test := strings.Join(names[:min(len(names), 2)], "/") + " " + server(t, db)
	words := []string{test}
	for i, part := range parts {
		parts[i] = random.ReplaceAllString(part, "RANDOM")
		words = append(words, fmt.Sprintf("%x", sha256.Sum256([]byte(parts[i])))[:10])
	}
	line := strings.Join(words, " ")
	if *plans != "" {
		write(t, filepath.Join(*plans, strings.ReplaceAll(t.Name(), "/", "_")), strings.Join(parts, ""))
	}
	golden.Lock()
	defer golden.Unlock()
	known := slices.ContainsFunc(slices.Collect(maps.Keys(golden.lines)), func(known string) bool { return strings.HasPrefix(known, test+" ") })
	switch {
	case *update:
		golden.lines[line] = true
		write(t, linesFile, strings.Join(slices.Sorted(maps.Keys(golden.lines)), "\n")+"\n")
	case known && !golden.lines[line]:
		t.Errorf("the plan is not in testdata/plans.txt: see package migratetest for how to see what differs:\n%s", line)
	}
}

const linesFile = "testdata/plans.txt"

// readLines has none if all are to be written again.
func readLines(t testing.TB) map[string]bool {
	t.Helper()
	lines := map[string]bool{}
	if *update && flag.Lookup("test.run").Value.String() == "" {
		return lines
	}
	text, err := os.ReadFile(linesFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	return lines
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	// random are the names of databases, schemas and roles of tests, names that have
	// an object's number, IDs of now, and counters that writers of a test have raised.
	random = regexp.MustCompile(`\b(gormflake_[a-z0-9]{20,}|db\d+\b|sqlmigrate_\d+|[12]\d{18}\b|AUTO_INCREMENT=2\d{3}\b)`)

	// release is the part of a version with which the texts of a catalog change.
	release = regexp.MustCompile(`^\d+(\.\d+)?`)
)

// server is the database and its release. Plans are compared on the same one only.
func server(t testing.TB, db *gorm.DB) string {
	t.Helper()
	query := map[string]string{"sqlite": "SELECT 3", "mysql": "SELECT version()", "postgres": "SHOW server_version"}[db.Name()]
	var version string
	if err := db.Raw(query).Row().Scan(&version); err != nil {
		t.Fatal(err)
	}
	name := db.Name()
	if strings.Contains(version, "MariaDB") {
		name = "mariadb"
	}
	number := release.FindString(version)
	if name == "postgres" {
		number, _, _ = strings.Cut(number, ".")
	}
	return name + number
}

// PlanText is a plan without what a server estimates: its text, its JSON, and files.
func PlanText(t testing.TB, p *sqlmigrate.Plan) []string {
	t.Helper()
	p = withoutEstimates(p)
	parts := []string{p.String(), marshal(t, p), ""}
	if p.Err() == nil && !p.Empty() {
		parts[2] = files(t, p, sqlmigrate.GolangMigrate) + files(t, p, sqlmigrate.Goose)
	}
	return parts
}

// OnlineText is an online plan without what a server estimates: its text and its way
// back, and the JSON that a database keeps of it.
func OnlineText(t testing.TB, p *sqlmigrate.OnlinePlan) []string {
	t.Helper()
	return []string{estimates.ReplaceAllString(p.String()+"\n"+p.WayBack(), "N"), KeptText(t, keptOf(p).Plan)}
}

// KeptText is the JSON that a database keeps of an online plan.
func KeptText(t testing.TB, p engine.OnlinePlan) string {
	t.Helper()
	return numbers.ReplaceAllString(marshal(t, p), "")
}

var (
	estimates = regexp.MustCompile(`\d[\d.,]* (row|byte|kB|MB|GB)s?\b|at once|about [\d.,]+ (ms|s|min|h)\b`)
	numbers   = regexp.MustCompile(`,\n *"(Rows|Bytes|Disk|Log|Estimate)": \d+`)
)

func withoutEstimates(p *sqlmigrate.Plan) *sqlmigrate.Plan {
	plan := *p
	plan.Tables = slices.Clone(p.Tables)
	for i := range plan.Tables {
		t := &plan.Tables[i]
		t.Rows, t.Bytes, t.NotAnalyzed = 0, 0, false
	}
	plan.Phases = slices.Clone(p.Phases)
	for i := range plan.Phases {
		steps := slices.Clone(plan.Phases[i].Steps)
		for j := range steps {
			s := &steps[j]
			s.Rows, s.Bytes, s.Estimate = 0, 0, 0
		}
		plan.Phases[i].Steps = steps
	}
	return &plan
}

func marshal(t testing.TB, value any) string {
	t.Helper()
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// stamp is the timestamp with which the name of a file begins.
var stamp = regexp.MustCompile(`^\d+`)

func files(t testing.TB, p *sqlmigrate.Plan, format sqlmigrate.Format) string {
	t.Helper()
	dir := t.TempDir()
	if err := p.WriteFiles(dir, format); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %s\n%s", format, stamp.ReplaceAllString(entry.Name(), "N"), text)
	}
	return out.String()
}
