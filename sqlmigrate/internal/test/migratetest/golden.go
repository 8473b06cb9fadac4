// Package migratetest contains the helpers that the tests of sqlmigrate and of its
// database engines share. It opens test databases, reads their whole state, and compares
// plans with the plans that are recorded in testdata, so that a change of any plan is
// noticed.
//
// [Whole] compares a text with a file of testdata. [Plan] and [Online] compare hashes,
// because there are too many plans to keep all their texts. The file testdata/plans.txt
// contains a line for each of them, with the name of the test, the server, and the hashes
// of the plan's text, of its JSON and of its migration files. To see how a plan differs,
// run
//
//	go test -plans DIR
//
// before and after the change, each time with another folder, and compare the folders
// with diff -r. The flag -update writes the recorded plans again. Together with -run it
// keeps the other lines of plans.txt and adds the new lines.
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

// Plan compares p with the plans that testdata/plans.txt contains for this test and server,
// and fails the test if p is none of them. If the file has no line of the test, Plan
// accepts p. If it has lines of the test, Plan fails for a new plan until -update adds it.
//
// Plan compares only the first plan of a test. Later plans may depend on the moment at
// which the test stopped a run.
func Plan(t testing.TB, db *gorm.DB, p *sqlmigrate.Plan) {
	t.Helper()
	if isFirstPlan(t) {
		comparePlan(t, db, PlanText(t, p))
	}
}

// Online compares a plan of an online move, as [Plan] compares other plans. It fails the
// test if p is none of the plans in testdata/plans.txt for this test and server. Like Plan,
// it compares only the first plan of a test, of either kind.
func Online(t testing.TB, db *gorm.DB, p *sqlmigrate.OnlinePlan) {
	t.Helper()
	if isFirstPlan(t) {
		comparePlan(t, db, OnlineText(t, p))
	}
}

// Whole compares text with the file called name in testdata. It skips the test if the
// file was recorded on another database or release.
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
	// The first line names the server on which the file was recorded.
	if first, _, _ := strings.Cut(string(want), "\n"); !strings.HasPrefix(text, first+"\n") {
		t.Skipf("%s is of another %s", file, first)
	}
	t.Errorf("%s differs:\n%s", file, testdb.Diff(string(want), text))
}

// planRecords knows the plans of testdata/plans.txt, and which tests have made a plan. The
// tests of a package share it while they run in parallel.
var planRecords struct {
	sync.Mutex

	tests map[string]bool // names of the running tests that have made a plan
	lines map[string]bool // the lines of testdata/plans.txt; nil before the first plan
}

// isFirstPlan reports whether the test has not made a plan before. The first call of all
// tests also reads testdata/plans.txt.
func isFirstPlan(t testing.TB) bool {
	planRecords.Lock()
	defer planRecords.Unlock()
	if planRecords.lines == nil {
		planRecords.tests, planRecords.lines = map[string]bool{}, readLines(t)
	}
	if planRecords.tests[t.Name()] {
		return false
	}
	planRecords.tests[t.Name()] = true
	t.Cleanup(func() { // with -count the test runs again
		planRecords.Lock()
		defer planRecords.Unlock()
		delete(planRecords.tests, t.Name())
	})
	return true
}

// comparePlan compares the hashes of the parts of a plan, which [PlanText] or
// [OnlineText] returns, with testdata/plans.txt. With -update it writes them to the file
// instead, and with -plans it also writes the parts to a folder.
func comparePlan(t testing.TB, db *gorm.DB, parts []string) {
	t.Helper()
	if os.Getenv("GORMFLAKE_TEST_ROWS") != "" {
		return // with this variable the tests create larger schemas
	}
	// A test that stops a run at random places has a subtest for each place, whose name
	// is different in each run. So only the first two parts of the name count.
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
	planRecords.Lock()
	defer planRecords.Unlock()
	// known reports whether the file has a plan of this test and server.
	known := slices.ContainsFunc(slices.Collect(maps.Keys(planRecords.lines)), func(known string) bool { return strings.HasPrefix(known, test+" ") })
	switch {
	case *update:
		planRecords.lines[line] = true
		write(t, linesFile, strings.Join(slices.Sorted(maps.Keys(planRecords.lines)), "\n")+"\n")
	case known && !planRecords.lines[line]:
		t.Errorf("the plan is not in testdata/plans.txt: see package migratetest for how to see what differs:\n%s", line)
	}
}

// linesFile is the file of a package's recorded plans, from the folder of the package.
const linesFile = "testdata/plans.txt"

// readLines returns the lines of testdata/plans.txt. With -update and without -run, it
// returns no lines, because all tests run and write their lines again. Lines of tests that
// no longer exist are then gone.
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

// write writes a file, and creates its folder if necessary.
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
	// random matches the parts of a plan that differ in each run: names of test
	// databases, schemas and roles, names that contain the number of an object, IDs that
	// were issued during the test, and counters that concurrent writers have raised.
	random = regexp.MustCompile(`\b(gormflake_[a-z0-9]{20,}|db\d+\b|sqlmigrate_\d+|[12]\d{18}\b|AUTO_INCREMENT=2\d{3}\b)`)

	// release matches the part of a version on which the texts of a database catalog
	// depend.
	release = regexp.MustCompile(`^\d+(\.\d+)?`)
)

// server returns the name of the database and its release, for example mariadb11.4. Plans
// are only compared if they were made on the same server.
func server(t testing.TB, db *gorm.DB) string {
	t.Helper()
	// Every release of SQLite gives the same plans, so only its major version counts.
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
	if name == "postgres" { // its releases have one number, for example 17 in 17.2
		number, _, _ = strings.Cut(number, ".")
	}
	return name + number
}

// PlanText returns three parts: the text of a plan, its JSON and its migration files. It
// leaves out the sizes and durations that the server estimates. The third part is empty
// if the plan has no files.
func PlanText(t testing.TB, p *sqlmigrate.Plan) []string {
	t.Helper()
	p = withoutEstimates(p)
	parts := []string{p.String(), marshal(t, p), ""}
	if p.Err() == nil && !p.Empty() {
		parts[2] = files(t, p, sqlmigrate.GolangMigrate) + files(t, p, sqlmigrate.Goose)
	}
	return parts
}

// OnlineText returns two parts: the text of an online plan with the steps of Revert, and
// the JSON that the database stores. It leaves out the sizes and durations that the
// server estimates.
func OnlineText(t testing.TB, p *sqlmigrate.OnlinePlan) []string {
	t.Helper()
	return []string{estimates.ReplaceAllString(p.String()+"\n"+p.WayBack(), "N"), KeptText(t, moveOf(p).Plan)}
}

// KeptText returns the JSON of an online plan as the database stores it, without the
// numbers that the server estimates.
func KeptText(t testing.TB, p engine.OnlinePlan) string {
	t.Helper()
	return numbers.ReplaceAllString(marshal(t, p), "")
}

// estimates matches sizes and durations in the text of a plan, and numbers matches the
// fields for them in its JSON.
var (
	estimates = regexp.MustCompile(`\d[\d.,]* (row|byte|kB|MB|GB)s?\b|at once|about [\d.,]+ (ms|s|min|h)\b`)
	numbers   = regexp.MustCompile(`,\n *"(Rows|Bytes|Disk|Log|Estimate)": \d+`)
)

// withoutEstimates returns a copy of a plan in which all sizes and durations are zero.
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

// marshal returns the indented JSON of a value.
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

// stamp matches the timestamp with which the name of a migration file begins.
var stamp = regexp.MustCompile(`^\d+`)

// files returns the names and texts of the migration files of a plan in a format.
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
