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

// TestFilesNameMetrics checks that the rules of alerts.yaml and the panels of
// dashboard.json name only metrics of the collector, and that the dashboard shows every
// metric and names only existing alerts. The tests of the pages check by promtool whether
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
			if !slices.Contains(exported, name) && name != ofDoctor {
				t.Errorf("%s names %s, which the collector does not have", file, name)
			}
		}
	}
	for _, name := range exported {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(dashboard) {
			t.Errorf("dashboard.json does not show %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`\bSnowflake[A-Z]\w+`).FindAllString(readText(t, "dashboard.json"), -1) {
		if !strings.Contains(alerts, "alert: "+name+"\n") {
			t.Errorf("dashboard.json names the alert %s, which alerts.yaml does not have", name)
		}
	}
}

// ofDoctor is the metric that gormflake doctor writes for node_exporter.
const ofDoctor = "gormflake_key_used_ratio"

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
