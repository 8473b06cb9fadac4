//go:build unix

package docstest_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestYAMLInPages parses every YAML file in the pages. A manifest of Kubernetes must have
// apiVersion, kind and metadata. The module integrations checks the other fields.
func TestYAMLInPages(t *testing.T) {
	t.Parallel()
	for _, p := range append(pages(t), files(t)...) {
		if p.name == "integrations.md" {
			continue // integrations.TestPage
		}
		for _, b := range p.of("yaml") {
			for i, doc := range documents(t, b.text) {
				if _, scrapes := doc["scrape_configs"]; scrapes {
					checkScrapes(t, b)
				} else if doc["services"] != nil {
					checkCompose(t, b)
				} else if doc["apiVersion"] == nil || doc["kind"] == nil || doc["metadata"] == nil {
					t.Errorf("%s:%d: document %d has no apiVersion, kind or metadata", p.name, b.line, i+1)
				}
			}
		}
	}
}

// documents returns the documents of a YAML file.
func documents(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc map[string]any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, doc)
	}
}

// checkScrapes checks that a configuration of Prometheus has only known fields, and that each
// job has a target.
func checkScrapes(t *testing.T, b block) {
	t.Helper()
	var doc struct {
		Scrapes []struct {
			Job           string `yaml:"job_name"`
			Authorization struct {
				File string `yaml:"credentials_file"`
			}
			Static     []struct{ Targets []string } `yaml:"static_configs"`
			Kubernetes []map[string]any             `yaml:"kubernetes_sd_configs"`
			Relabel    []map[string]any             `yaml:"relabel_configs"`
		} `yaml:"scrape_configs"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(b.text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, scrape := range doc.Scrapes {
		named := len(scrape.Static) > 0 && len(scrape.Static[0].Targets) > 0
		if scrape.Job == "" || !named && len(scrape.Kubernetes) == 0 {
			t.Errorf("scrape %+v: want a job and a target", scrape)
		}
	}
}

// checkCompose checks that the folders in a Compose file exist, and that a service that
// others wait for has a health check.
func checkCompose(t *testing.T, b block) {
	t.Helper()
	var doc struct {
		Services map[string]struct {
			Build     struct{ Context, Dockerfile string }
			DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
			Health    struct{ Test []string }               `yaml:"healthcheck"`
		}
	}
	if err := yaml.Unmarshal([]byte(b.text), &doc); err != nil {
		t.Fatal(err)
	}
	service := doc.Services["gormflake"]
	if _, err := os.Stat(filepath.Join(root, "cmd", "gormflake", service.Build.Context, service.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for name := range service.DependsOn {
		if len(doc.Services[name].Health.Test) == 0 {
			t.Errorf("gormflake waits for %s, which does not say when it is healthy", name)
		}
	}
	if len(service.DependsOn) == 0 {
		t.Error("gormflake waits for no database")
	}
}

// writeFile writes a file in a temporary folder.
func writeFile(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// systemd accepts the units in the pages and the unit of the repository. The test needs
// systemd-analyze.
func TestUnitsInPages(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	program := build(t)
	for _, p := range append(pages(t), files(t)...) {
		for _, b := range p.of("ini") {
			unit := writeFile(t, "gormflake.service", strings.ReplaceAll(b.text, "/usr/local/bin/gormflake", program))
			out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput()
			if err != nil || strings.Contains(string(out), "gormflake.service") {
				t.Errorf("%s:%d: %v\n%s", p.name, b.line, err, out)
			}
		}
	}
}

// invocation matches a call of gormflake up to the end of its line. A line that ends with a
// backslash continues on the next line. A list of YAML has commas between the words of a call.
// The first group of invocation is the subcommand. flag matches a flag in a call, and its first
// group is the flag without the character before it.
var (
	invocation = regexp.MustCompile(`gormflake,? ((?:[a-z]+,? )*)(?:[^\n|]*\\\n)*[^\n|]*`)
	flag       = regexp.MustCompile(`(?:^|[\s\[,])(--[a-z][a-z-]+)`)
)

// files returns the files of YAML and the unit of systemd as pages.
func files(t *testing.T) []page {
	t.Helper()
	service := filepath.Join(root, "cmd", "gormflake")
	paths, err := filepath.Glob(filepath.Join(root, "examples", "kubernetes", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	var all []page
	for _, path := range append(paths, filepath.Join(service, "kubernetes.yaml"), filepath.Join(service, "compose.yaml"), filepath.Join(service, "gormflake.service")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		language := map[string]string{".yaml": "yaml", ".service": "ini"}[filepath.Ext(path)]
		all = append(all, page{name: path, text: string(text), blocks: []block{{language: language, text: string(text), line: 1}}})
	}
	return all
}

// TestFlagsInPages checks that the commands in YAML files and units use flags that exist.
func TestFlagsInPages(t *testing.T) {
	t.Parallel()
	program := build(t)
	checked := 0
	for _, p := range append(pages(t), files(t)...) {
		for _, b := range p.of("yaml", "ini") {
			for _, call := range invocation.FindAllStringSubmatch(b.text, -1) {
				flags := flag.FindAllStringSubmatch(call[0], -1)
				if len(flags) == 0 {
					continue
				}
				arguments := append(strings.Fields(strings.ReplaceAll(call[1], ",", " ")), "--help")
				help, err := exec.CommandContext(t.Context(), program, arguments...).Output()
				if err != nil {
					t.Fatalf("%s:%d: %q: %v", p.name, b.line, arguments, err)
				}
				for _, f := range flags {
					checked++
					if !strings.Contains(string(help), " "+f[1]+" ") {
						t.Errorf("%s:%d: %q has no flag %s", p.name, b.line, arguments, f[1])
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no flag has been found")
	}
}

// action matches the use of an action in a workflow.
var action = regexp.MustCompile(`(?m)uses: +(\S+)(.*)$`)

// Workflows pin each action by its commit, because the owner of an action can move its tag.
// The comment after the commit names the version, for Dependabot.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, uses := range action.FindAllStringSubmatch(string(text), -1) {
			if got := uses[1] + uses[2]; !pinned.MatchString(got) {
				t.Errorf("%s: uses %s: want a commit, and behind it # and its version", filepath.Base(path), got)
			}
		}
	}
}
