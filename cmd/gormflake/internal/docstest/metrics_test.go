//go:build unix

package docstest_test

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	metric   = regexp.MustCompile(`\bgormflake_\w+`)
	typeLine = regexp.MustCompile(`(?m)^# TYPE (gormflake_\w+) `)
)

// TestMetricsInPages compares docs/metrics.md with what a service exports.
func TestMetricsInPages(t *testing.T) {
	t.Parallel()
	p := read(t, filepath.Join(root, "docs", "metrics.md"))
	row := regexp.MustCompile("(?m)^\\| `(gormflake_\\w+)(?:{[a-z,]+})?` \\|")
	var listed []string
	for _, found := range row.FindAllStringSubmatch(p.text, -1) {
		listed = append(listed, found[1])
	}
	exported := exported(t)
	slices.Sort(listed)
	if !slices.Equal(listed, exported) {
		t.Errorf("the page lists\n%q\nand a service exports\n%q", listed, exported)
	}
	for _, p := range pages(t) {
		for _, name := range metric.FindAllString(p.text, -1) {
			if !slices.Contains(exported, name) {
				t.Errorf("%s: no metric %s is exported", p.name, name)
			}
		}
	}
}

// exported are the names of a service that has a lease and has refused
// something.
func exported(t *testing.T) []string {
	t.Helper()
	s := &session{t: t, scheme: "sqlite", program: build(t), dir: t.TempDir(), urls: map[string]string{}}
	s.serve(command{text: "gormflake serve --dsn sqlite://shop.db --addr 127.0.0.1:8080 &", quiet: true})
	get(t, "http://"+s.address+"/v1/ids?count=none")
	var names []string
	for _, found := range typeLine.FindAllStringSubmatch(get(t, "http://"+s.address+"/metrics"), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return names
}

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
