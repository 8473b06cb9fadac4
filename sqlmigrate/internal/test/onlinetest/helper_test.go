package onlinetest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

func sortedLines(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// same compares two texts line by line.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, testdb.Diff(want, got))
	}
}

// wantError expects an error that contains every text.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want it to say %q", err, text)
		}
	}
}
