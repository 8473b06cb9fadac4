package docstest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deterministic matches commands that print the same in every run.
var deterministic = regexp.MustCompile(`gormflake (parse|min|max|workers ddl)\b|/v1/(ids/|layout)`)

// variableParts are the parts of an output that differ between runs, with the names that
// replace them.
var variableParts = []struct {
	text *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)?`), "TIME"},
	{regexp.MustCompile(`\b\d{14}_snowflake`), "VERSION_snowflake"},
	{regexp.MustCompile(`[\w.-]+/\d+/[A-Z2-7]{26}`), "OWNER"},
	{regexp.MustCompile(`\b[12]\d{18}\b`), "ID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`^\d+ \d+ (held|lapsed|waiting|free) `), "WORKER $1 "},
	{regexp.MustCompile(`\b(after|in|within|of the database's,|clock is) \d[\d.]*(µs|ms|s|m|h)( \d+s)?\b`), "$1 SPAN"},
	{regexp.MustCompile(`\b\d[\d.]* (bytes|kB|MB)\b`), "SIZE"},
}

// foreign matches a line about schemas and databases of other tests, which run on the same
// server at the same time.
var foreign = regexp.MustCompile(`there are other tables of workers`)

// withoutForeign returns the lines that are not about other tests.
func withoutForeign(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), foreign.MatchString)
}

var blanks = regexp.MustCompile(`[ \t]+`)

// normalize returns the line with single blanks. Unless exactly is set, names replace the
// parts that differ between runs.
func normalize(line string, exactly bool) string {
	line = blanks.ReplaceAllString(strings.TrimSpace(line), " ")
	if exactly {
		return line
	}
	for _, f := range variableParts {
		line = f.text.ReplaceAllString(line, f.name)
	}
	return line
}

// matches reports whether the printed lines match the lines of the page. A line "…" on
// the page matches any number of lines, and "…" within a line matches any text.
func matches(shown, printed []string, exactly bool) bool {
	if len(shown) == 0 {
		return len(printed) == 0
	}
	if strings.TrimSpace(shown[0]) == "…" {
		for skip := range len(printed) + 1 {
			if matches(shown[1:], printed[skip:], exactly) {
				return true
			}
		}
		return false
	}
	return len(printed) > 0 && matchesLine(shown[0], printed[0], exactly) && matches(shown[1:], printed[1:], exactly)
}

// matchesLine reports whether a printed line matches a line of the page.
func matchesLine(shown, printed string, exactly bool) bool {
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(normalize(shown, exactly)), "…", ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(normalize(printed, exactly))
}

// matches accepts the outputs that a page may show, and no others. If it accepted more, the
// pages could show output that the program never prints. If it accepted less, correct pages
// would fail.
func TestSame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, shown, printed string
		exactly, want        bool
	}{
		{"equal", "a\nb", "a\nb", false, true},
		{"another text", "a", "b", false, false},
		{"a line more", "a", "a\nb", false, false},
		{"a line less", "a\nb", "a", false, false},
		{"any lines", "a\n…\nd", "a\nb\nc\nd", false, true},
		{"no lines", "a\n…\nd", "a\nd", false, true},
		{"any lines but the last", "a\n…\nd", "a\nb\nc", false, false},
		{"any text", "a … c", "a b c", false, true},
		{"times", "at 2026-11-21T17:15:01.372Z", "at 2027-01-01T00:00:00Z", false, true},
		{"no time", "at 2026-11-21T17:15:01.372Z", "at noon", false, false},
		{"times, exactly", "at 2026-11-21T17:15:01.372Z", "at 2027-01-01T00:00:00Z", true, false},
		{"IDs", "2124197361574499848", "2224197361574499848", false, true},
		{"IDs, exactly", "2124197361574499848", "2224197361574499848", true, false},
		{"counts", "1023 of 1024 are free", "1022 of 1024 are free", false, false},
		{"columns", "a  b", "a    b", true, true},
		{"spans", "done after 9ms", "done after 1.4s", false, true},
		{"workers", "28  5  held  x", "1  31  held  x", false, true},
		{"states", "28  5  held  x", "28  5  free  x", false, false},
	} {
		if got := matches(lines(test.shown), lines(test.printed), test.exactly); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// lines returns the lines of an output. An empty output has no lines.
func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
