package onlinetest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// sortedLines joins lines in sorted order.
func sortedLines(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// same fails the test if two texts differ. The message begins with what and shows the
// different lines.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, testdb.Diff(want, got))
	}
}

// wantError fails the test unless err is an error whose message contains every text.
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
