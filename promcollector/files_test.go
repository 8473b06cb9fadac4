package promcollector_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease/leasetest"
	"github.com/gormflake/gormflake/promcollector"
)

// TestFilesNameMetrics checks that alerts.yaml, alerts_test.yaml and dashboard.json name
// only metrics of the collector and of the command gormflake, and that the dashboard shows
// every metric, as docs/kubernetes.md says. The tests of the pages check by promtool whether
// the rules fire.
func TestFilesNameMetrics(t *testing.T) {
	t.Parallel()
	exported := names(t)
	alerts, dashboard := readText(t, "alerts.yaml"), strings.Join(expressions(t, readText(t, "dashboard.json")), "\n")
	for file, text := range map[string]string{
		"alerts.yaml": alerts, "alerts_test.yaml": readText(t, "alerts_test.yaml"), "dashboard.json": dashboard,
	} {
		shown := regexp.MustCompile(`\bgormflake_\w+`).FindAllString(text, -1)
		if len(shown) == 0 {
			t.Errorf("%s has no metric", file)
		}
		for _, name := range shown {
			if !slices.Contains(exported, name) && !slices.Contains(ofCommand, strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")) {
				t.Errorf("%s names %s, which the collector does not have", file, name)
			}
		}
	}
	for _, name := range slices.Concat(exported, ofCommand) {
		if !regexp.MustCompile(`\b` + name + `(_bucket|_count)?\b`).MatchString(dashboard) {
			t.Errorf("dashboard.json does not show %s", name)
		}
	}
}

// TestDashboardShowsAlerts checks that the dashboard shows the alerts that fire, and that the
// panels name all alerts, and no others, in their descriptions.
func TestDashboardShowsAlerts(t *testing.T) {
	t.Parallel()
	alerts, dashboard := readText(t, "alerts.yaml"), readText(t, "dashboard.json")
	if firing := `ALERTS{alertname=~"Snowflake.*", alertstate="firing"`; !strings.Contains(strings.Join(expressions(t, dashboard), "\n"), firing) {
		t.Errorf("dashboard.json does not ask for %s", firing)
	}
	named := regexp.MustCompile(`\bSnowflake[A-Z]\w+`).FindAllString(dashboard, -1)
	slices.Sort(named)
	var want []string
	for _, found := range regexp.MustCompile(`alert: (\w+)\n`).FindAllStringSubmatch(alerts, -1) {
		want = append(want, found[1])
	}
	slices.Sort(want)
	if got := slices.Compact(named); !slices.Equal(got, want) {
		t.Errorf("the panels name\n%q\nwant\n%q", got, want)
	}
}

// ofCommand are the metrics of the command gormflake. doctor writes the first for
// node_exporter, and serve exports the others.
var ofCommand = []string{"gormflake_key_used_ratio", "gormflake_build_info", "gormflake_http_request_duration_seconds"}

// names returns the metrics of a generator that has a lease.
func names(t *testing.T) []string {
	t.Helper()
	var all []string
	for series := range values(t, registry(t, promcollector.New(leasedGenerator(t, leasetest.NewMemory())))) {
		name, _, _ := strings.Cut(series, ",")
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// expressions returns the expressions that the panels of a dashboard send to Prometheus.
func expressions(t *testing.T, dashboard string) []string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(dashboard), &board); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
		if len(panel.Targets) == 0 {
			t.Errorf("the panel %q asks for nothing", panel.Title)
		}
	}
	return all
}

// readText returns the contents of a file.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
