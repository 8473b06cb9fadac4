package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The root, a subcommand and a command with many flags have a manual page that quotes their
// help.
func TestWrite(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "man")
	if err := write([]string{folder}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"gormflake.1": "Exit codes:", "gormflake-workers-reset.1": "First stop every process", "gormflake-parse.1": "--layout"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.HasPrefix(string(text), ".") || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want a page with %q", name, err, want)
		}
	}
	if err := write(nil); err == nil {
		t.Error("no folder is no error")
	}
}
