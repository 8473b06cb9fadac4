package onlinetest_test

import (
	"slices"
	"strings"
	"testing"
)

func sortedLines(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// same compares two texts line by line.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, diff(want, got))
	}
}

// diff shows the lines that only one of two texts has.
func diff(want, got string) string {
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]--
	}
	for line := range strings.Lines(got) {
		count[line]++
	}
	var out strings.Builder
	for line := range strings.Lines(want + got) {
		switch n := count[line]; {
		case n < 0:
			out.WriteString("- " + line)
		case n > 0:
			out.WriteString("+ " + line)
		}
		delete(count, line)
	}
	if out.Len() == 0 {
		return "the same lines in another order"
	}
	return out.String()
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
