package testdb

import "strings"

// Diff returns the lines that occur in only one of two dumps, or more often in one of them.
// It marks the lines of want by a minus and the lines of got by a plus.
func Diff(want, got string) string {
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
