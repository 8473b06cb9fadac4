package main

import (
	"bytes"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRun checks that both ways store all orders, and that the program leaves no files.
func TestRun(t *testing.T) { //nolint:paralleltest // changes the environment
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp) // the same on Windows
	var printed bytes.Buffer
	if err := run(t.Context(), log.New(&printed, "", 0)); err != nil {
		t.Fatalf("%v\n%s", err, &printed)
	}
	out := printed.String()
	for _, want := range []string{
		"1000 orders of 10 lines each, in a sqlite database", "1. Create", "2. Assign, then batched",
		`  "id": "2`, `"customer": "customer 0"`, `"sku": "TEA-01"`, "issued: 20", "JavaScript would read it as 2", "./examples/orderapi",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "10000 lines stored"); n != 2 {
		t.Errorf("%d ways stored all lines, want 2:\n%s", n, out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestCompilesSQLiteAlone checks that a new user's first command compiles SQLite only
// once, and no package for networks. Such packages would be compiled before the program
// prints its first line.
func TestCompilesSQLiteAlone(t *testing.T) {
	t.Parallel()
	for cgo, other := range map[string]string{"0": "crypto/x509", "1": "modernc.org/"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			t.Parallel()
			list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
			list.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
			packages, err := list.Output()
			if err != nil {
				t.Fatal(err)
			}
			for path := range strings.Lines(string(packages)) {
				for _, unneeded := range []string{"net/http", "crypto/tls", "github.com/jackc/", "github.com/go-sql-driver/", other} {
					if strings.HasPrefix(strings.TrimSpace(path), unneeded) {
						t.Errorf("imports %s", strings.TrimSpace(path))
					}
				}
			}
		})
	}
}
