//go:build unix

package docstest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

var (
	metric   = regexp.MustCompile(`\bgormflake_\w+`)
	typeLine = regexp.MustCompile(`(?m)^# TYPE (gormflake_\w+) `)
)

// ofOnlineMove matches names of columns in docs/online.md, which are not metrics.
var ofOnlineMove = regexp.MustCompile(`^gormflake_(new|old)_`)

// TestMetricsInPages compares the table in docs/kubernetes.md with the metrics that a service
// and the command doctor export. Other pages may name only metrics that exist.
func TestMetricsInPages(t *testing.T) {
	t.Parallel()
	p := read(t, filepath.Join(root, "docs", "kubernetes.md"))
	row := regexp.MustCompile("(?m)^\\| `(gormflake_\\w+)(?:{[a-z,]+})?` \\|")
	listed := groups(row, p.text)
	exported := exported(t)
	slices.Sort(listed)
	if !slices.Equal(listed, exported) {
		t.Errorf("the page lists\n%q\nand a service exports\n%q", listed, exported)
	}
	for _, p := range pages(t) {
		for _, name := range metric.FindAllString(p.text, -1) {
			if !slices.Contains(exported, name) && !ofOnlineMove.MatchString(name) {
				t.Errorf("%s: no metric %s is exported", p.name, name)
			}
		}
	}
}

// exported returns the names of the metrics of doctor and of a service. The service has
// leased a worker and rejected a request, because some metrics appear only then.
func exported(t *testing.T) []string {
	t.Helper()
	s := &session{t: t, scheme: "sqlite", program: build(t), dir: t.TempDir(), urls: map[string]string{}}
	s.serve(command{text: "gormflake serve --dsn sqlite://shop.db --addr 127.0.0.1:8080 &", quiet: true})
	get(t, "http://"+s.address+"/v1/ids?count=none")
	var names []string
	for _, found := range typeLine.FindAllStringSubmatch(get(t, "http://"+s.address+"/metrics")+textfile(t, s), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return names
}

// textfile returns the metrics that doctor writes to a file. Findings make doctor end with an
// error, which is ignored if there is a file.
func textfile(t *testing.T, s *session) string {
	t.Helper()
	name := filepath.Join(s.dir, "doctor.prom")
	out, err := exec.CommandContext(t.Context(), s.program, "doctor", "--dsn", s.urls["sqlite://shop.db"], "--textfile", name).CombinedOutput()
	text, readErr := os.ReadFile(name)
	if readErr != nil {
		t.Fatalf("%v, %v\n%s", readErr, err, out)
	}
	return string(text)
}

// get returns the body of the answer to a request.
func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAlertsInPages compares the runbooks in docs/runbooks.md with the alerts in alerts.yaml.
// Each alert must link to its runbook.
func TestAlertsInPages(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join(root, "promcollector", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	runbooks := groups(regexp.MustCompile(`(?m)^### (Snowflake\w+)$`), read(t, filepath.Join(root, "docs", "runbooks.md")).text)
	alerts := groups(regexp.MustCompile(`(?m)^ +- alert: (\w+)$`), string(rules))
	if len(alerts) == 0 || !slices.Equal(runbooks, alerts) {
		t.Errorf("the page has runbooks for\n%q\nand alerts.yaml has\n%q", runbooks, alerts)
	}
	links := groups(regexp.MustCompile(`(?m)^ +runbook_url: \S+/docs/runbooks\.md#(\w+)$`), string(rules))
	if want := strings.Fields(strings.ToLower(strings.Join(alerts, " "))); !slices.Equal(links, want) {
		t.Errorf("alerts.yaml links to\n%q\nwant\n%q", links, want)
	}
}

// groups returns the text of the first group in each match.
func groups(expression *regexp.Regexp, text string) (all []string) {
	for _, found := range expression.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// TestAlerts runs promtool, which lints the alert rules, tests when each alert fires, and
// parses the queries of the dashboard.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool := testserver.Program(t, "promtool")
	folder, err := filepath.Abs(filepath.Join(root, "promcollector"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint-fatal", "alerts.yaml"},
		{"test", "rules", "alerts_test.yaml"},
		{"check", "rules", writeFile(t, "panels.yaml", panels(t, filepath.Join(folder, "dashboard.json")))},
	} {
		command := exec.CommandContext(t.Context(), promtool, args...)
		command.Dir = folder
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

// panels returns the queries of a dashboard as rules, because promtool can check only rules.
func panels(t *testing.T, dashboard string) (rules string) {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	rules = "groups:\n- name: panels\n  rules:\n"
	for i, panel := range board.Panels {
		for j, target := range panel.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			rules += fmt.Sprintf("  - {record: 'panel:%d:%d', expr: %q}\n", i, j, expr)
		}
	}
	return rules
}
