package docstest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommitSubjects checks that CI's lint accepts good subjects of commits, and refuses
// bad subjects with a reason. want is a part of the reason, and empty for a good subject.
func TestCommitSubjects(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for subject, want := range map[string]string{
		"lease: check the table before replacing a lost worker":        "",
		"make tidb: leave out the trial of doctor, which TiDB refuses": "",
		"README: show how the program runs in a clone":                 "",
		`Revert "lease: check the table"`:                              "",
		"Merge branch 'lease' into integrate":                          "is a merge",
		"fixed the tests":                                              "names no area",
		"lease: adds a test":                                           `begins with "adds"`,
		"lease: the journal is a file of its own":                      `begins with "the"`,
		"lease: Add a test":                                            "no lower-case verb",
		"lease: add a test.":                                           "ends with a full stop",
		"lease: check " + strings.Repeat("x", 60):                      "is 73 characters long",
	} {
		lint := exec.CommandContext(t.Context(), bash, ".ci/commits")
		lint.Stdin = strings.NewReader(subject + "\n")
		out, err := lint.CombinedOutput()
		if (err == nil) != (want == "") || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s, want %q", subject, err, out, want)
		}
	}
}
