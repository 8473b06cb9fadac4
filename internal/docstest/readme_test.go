package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

const maxReadme = 150 // lines

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if lines := strings.Count(p.text, "\n"); strings.HasPrefix(p.path, "README") && lines > maxReadme {
			t.Errorf("%s: %d lines, want at most %d", p.path, lines, maxReadme)
		}
	}
}

// TestReadme pastes the program of each README, starts two copies at once on a
// database that does not exist yet, and checks what they print.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.path, "README") {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			program := programOf(t, p)
			dir := t.TempDir()
			var copies sync.WaitGroup
			for range 2 {
				copies.Go(func() { checkReadme(t, program, dir) })
			}
			copies.Wait()
		})
	}
}

// programOf builds the only program of the page.
func programOf(t *testing.T, p document) (path string) {
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
	return buildProgram(t, []byte(programs[0]))
}

var stringKey = regexp.MustCompile(`"ID":"\d{18,19}"`)

func checkReadme(t *testing.T, program, dir string) {
	t.Helper()
	run := exec.Command(program)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "worker released") {
		t.Errorf("the program does not release its worker:\n%s", out)
	}
	if !stringKey.Match(out) {
		t.Errorf("the program does not print string keys:\n%s", out)
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
