package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// The programs in README.md compile and run unchanged.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no program")
	}
	for _, block := range blocks {
		out := runProgram(t, block[1])
		if !strings.Contains(out, "worker released") {
			t.Errorf("the program does not release its worker:\n%s", out)
		}
		if !regexp.MustCompile(`"OrderID": "\d{18,19}"`).MatchString(out) {
			t.Errorf("the program does not print string keys:\n%s", out)
		}
	}
}

// runProgram builds the program in this module and runs it in an empty folder.
func runProgram(t *testing.T, source []byte) string {
	t.Helper()
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}
