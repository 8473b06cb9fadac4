package docstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goBlock matches a block of Go in a page, and its text.
var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestReadme runs the program of each README twice and checks its output. The first run
// creates the database, and the second run uses it again.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.path, "README") {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			program, want, dir := buildProgram(t, []byte(programOf(t, p))), outputOf(t, p), t.TempDir()
			for range 2 {
				checkReadme(t, program, dir, want)
			}
		})
	}
}

// programOf returns the only program of the page.
func programOf(t *testing.T, p document) string {
	t.Helper()
	var programs []string
	for _, block := range goBlock.FindAllStringSubmatch(p.text, -1) {
		if strings.HasPrefix(block[1], "package main\n") {
			programs = append(programs, block[1])
		}
	}
	if len(programs) != 1 {
		t.Fatalf("%s: %d programs, want 1", p.path, len(programs))
	}
	return programs[0]
}

// jsonBlock matches a block of JSON in a page, and its text.
var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

// outputOf returns a pattern for the line of the program's output that the page shows.
func outputOf(t *testing.T, p document) *regexp.Regexp {
	t.Helper()
	blocks := jsonBlock.FindAllStringSubmatch(p.text, -1)
	if len(blocks) != 1 {
		t.Fatalf("%s: %d blocks of JSON, want 1", p.path, len(blocks))
	}
	shown := numberKeys(strings.ReplaceAll(blocks[0][1], "\n", ""))
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(shown), "…", ".*") + "\n$")
}

// stringKey matches a key in JSON, which is a string of digits.
var stringKey = regexp.MustCompile(`"\d{18,19}"`)

// numberKeys replaces keys by 1, 2, 3, and equal keys by the same number.
func numberKeys(text string) string {
	var keys []string
	return stringKey.ReplaceAllStringFunc(text, func(key string) string {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		return fmt.Sprint(slices.Index(keys, key) + 1)
	})
}

// checkReadme runs the program of a README in the folder, and checks that its output matches
// and that it releases its worker.
func checkReadme(t *testing.T, program, dir string, want *regexp.Regexp) {
	t.Helper()
	var log strings.Builder
	run := exec.Command(program)
	run.Dir, run.Stderr = dir, &log
	out, err := run.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	if !strings.Contains(log.String(), "worker released") {
		t.Errorf("the program does not release its worker:\n%s", log.String())
	}
	// On a busy machine, GORM writes warnings of slow SQL to the standard output before.
	lines := strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) > 1 && !strings.Contains(string(out), "SLOW SQL") || !want.MatchString(numberKeys(lines[len(lines)-1]+"\n")) {
		t.Errorf("the program prints\n%swant %v", out, want)
	}
}

// runProgram builds the program in this module and runs it in an empty folder.
func runProgram(t *testing.T, source []byte) {
	t.Helper()
	run := exec.Command(buildProgram(t, source))
	run.Dir = t.TempDir()
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// buildProgram compiles a program in this module, and returns its path.
func buildProgram(t *testing.T, source []byte) (path string) {
	t.Helper()
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
