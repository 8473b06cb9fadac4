package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"in one build":          "-quick -runs 2",
		"in a build of its own": "-runs 1 -only fill",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), "go", append([]string{"run", "."}, strings.Fields(args)...)...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "| Fill(1000), wide layout, per ID") {
				t.Errorf("%v, want a table with a figure for Fill:\n%s", err, out)
			}
		})
	}
}
