package ids_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli"
)

// runParse runs "gormflake parse" at a clock of November 2026, and returns its output.
func runParse(t *testing.T, in string, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	now := func() time.Time { return time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC) }
	cli.Main(t.Context(), append([]string{"parse"}, args...), cli.Streams{In: strings.NewReader(in), Out: &stdout, Err: &stderr, Now: now})
	return stdout.String(), stderr.String()
}

// parse prints a doubt about an ID that is more likely something else. The argument
// "information" is of the future as an ID, so it needs --until to be read. An empty want
// means that there is no doubt.
func TestParseDoubts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arg, want string }{
		{"2124189853926044565", ""},
		{"5VZ4ptk2d7i", ""},
		{"1795280400", "seconds since 1970: 2026-11-21T17:00:00.000Z"},
		{"1795280400123", "milliseconds since 1970: 2026-11-21T17:00:00.123Z"},
		{"1795280400123456", "microseconds since 1970: 2026-11-21T17:00:00.123Z"},
		{"1795280400123000000", "nanoseconds since 1970: 2026-11-21T17:00:00.123Z"},
		{"1795280400123456789", ""},
		{"2124189853926044700", "digits that JavaScript has rounded"},
		{"4111111111111111", "of the layout's first 30 days"},
		{"7124189853926044565", "of the future"},
		{"information", "like a word"},
	} {
		args := []string{test.arg}
		if test.arg == "information" {
			args = append(args, "--until", "2080-01-01")
		}
		out, errs := runParse(t, "", args...)
		_, doubt, found := strings.Cut(out, "doubt ")
		if doubt, _, _ = strings.Cut(doubt, "\n"); found != (test.want != "") || !strings.Contains(doubt, test.want) {
			t.Errorf("%s: doubt %q, want %q\n%s%s", test.arg, doubt, test.want, out, errs)
		}
	}
}

// parse does not annotate a number of 16 digits in a log, because it is more likely a card
// number than an ID.
func TestParseLeavesCards(t *testing.T) {
	t.Parallel()
	const line = "card 4111111111111111 order 2124189853926044565n\n"
	out, errs := runParse(t, line)
	if want := "card 4111111111111111 order 2124189853926044565n(2026-11-21T17:15:01.372Z "; !strings.HasPrefix(out, want) {
		t.Errorf("got %q, %q, want %q", out, errs, want)
	}
}

// parse reads a number as JavaScript prints a BigInt, with an n at the end.
func TestParseBigInt(t *testing.T) {
	t.Parallel()
	if out, errs := runParse(t, "", "2124189853926044565n"); !strings.HasPrefix(out, "id          2124189853926044565\n") {
		t.Errorf("got %q, %q", out, errs)
	}
}

// parse shows the machine of a Sonyflake ID as the worker in every output format,
// although the machine stands where other layouts have the sequence. --worker-bits sets
// its size.
func TestParseSonyflakeInText(t *testing.T) {
	t.Parallel()
	const line = "order 436207616016842755 paid" // tick 26000000001
	for _, test := range []struct {
		in, want string
		args     []string
	}{
		{line, "worker 3 sequence 1)", nil},
		{line, "       3         1  decimal", []string{"--table"}},
		{`{"id":"436207616016842755"}`, `"worker":3,"sequence":1`, []string{"--json-log"}},
		{line, "worker 3 sequence 256)", []string{"--worker-bits", "8", "--sequence-bits", "16"}},
	} {
		out, errs := runParse(t, test.in, append(test.args, "--layout", "sonyflake")...)
		if !strings.Contains(out, test.want) {
			t.Errorf("%q: got %s%s, want %q", test.args, out, errs, test.want)
		}
	}
}

// --layout reads the IDs of other libraries. The output is compared without the age, and
// without the local time, which depends on the machine.
func TestParseLayoutsByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, id, want string }{
		{"instagram", "11637205501278089", "datacenter  0\nworker      1341\nsequence    905\n"},
		{"leaf", "2124189853926044565", "datacenter  0\nworker      3\nsequence    917\n"},
		{"tsid", "388400145978465528", "time        2022-12-07T18:43:30.927Z\n"},
		{"yitter", "873037816312137", "datacenter  0\nworker      5\nsequence    9\n"},
		{"sonyflake", "1", "datacenter  0\nworker      1\nsequence    0\n"},
		{"sonyflake", "16842755", "time        2014-09-01T00:00:00.010Z\nlocal time  …\ndatacenter  0\nworker      3\nsequence    1\n"},
	} {
		out, errs := runParse(t, "", test.id, "--layout", test.name)
		got := ""
		for line := range strings.Lines(out) {
			switch {
			case strings.HasPrefix(line, "local time"):
				got += "local time  …\n"
			case !strings.HasPrefix(line, "age"):
				got += line
			}
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s%s, want %q", test.name, out, errs, test.want)
		}
	}
}
