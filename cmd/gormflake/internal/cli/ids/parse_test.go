package ids_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
)

// An ID is printed as a block of lines, with an empty line between two blocks. The local
// time depends on the time zone of the machine.
func TestParseBlock(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t)
	want := `id          2124095476331606058
time        2026-11-21T11:00:00.000Z
local time  ` + clitest.Noon.Add(-time.Hour).Local().Format("2006-01-02T15:04:05.000Z07:00") + `
age         1h 0m ago
datacenter  1
worker      7
sequence    42
base32      ` + id.Base32() + `
base58      ` + id.Base58() + `
base62      ` + id.Base62() + "\n"
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", id.String())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	serial := "serial      PAY20261121110000000" + "01070042\n"
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", id.String(), "--code", "PAY")); got != want+serial {
		t.Errorf("got\n%s\nwant\n%s", got, want+serial)
	}
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", id.String(), id.String())); got != want+"\n"+want {
		t.Errorf("two IDs give\n%s", got)
	}
}

// --table prints a row for each ID, with the form in which it was read and any doubt.
func TestParseTable(t *testing.T) {
	t.Parallel()
	const want = `ID                   TIME                      DATACENTER  WORKER  SEQUENCE  FORM     DOUBT
2124095476331606058  2026-11-21T11:00:00.000Z           1       7        42  base32
4294967296           2010-11-04T01:42:55.681Z           0       0         0  decimal  it is of the layout's first 30 days: is it a number of something else, or of another --layout?
`
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--table", clitest.Sample(t).Base32(), "4294967296")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// --json prints all parts of an ID on a line. Programs rely on the names.
func TestParseJSON(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t)
	want := fmt.Sprintf(`{"input":"%[1]s","form":"decimal","id":"%[1]s","time":"2026-11-21T11:00:00.000Z","unix_ms":1795258800000,"datacenter":1,"worker":7,"sequence":42,"base32":"%s","base58":"%s","base62":"%s"}`+"\n",
		id, id.Base32(), id.Base58(), id.Base62())
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--json", id.String())); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// parse reads each form that it prints, with --as and without. Without --as, a text in
// base 58 or base 62 may have a second reading.
func TestParseForms(t *testing.T) {
	t.Parallel()
	pay, err := serial.New("PAY", snowflake.TwitterLayout())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		id := clitest.Compose(t, snowflake.Parts{
			Time:       clitest.Noon.Add(-time.Duration(random.Int64N(int64(15 * 365 * 24 * time.Hour)))),
			Datacenter: random.Int64N(32), Worker: random.Int64N(32), Sequence: random.Int64N(4096),
		})
		for form, text := range map[string]string{
			"decimal": id.String(), "hex": fmt.Sprintf("%#x", id.Int64()), "base32": id.Base32(), "base58": id.Base58(), "base62": id.Base62(), "serial": pay.Format(id),
		} {
			row := id.String() + " "
			if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--as", form, "--code", "PAY", "--table", text)); len(clitest.Lines(got)) != 2 || !strings.Contains(got, row) || !strings.Contains(got, "  "+form) {
				t.Fatalf("--as %s %s gives\n%s", form, text, got)
			}
			got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--code", "PAY", "--table", text))
			if !strings.Contains(got, row) || !strings.Contains(got, "  "+form) {
				t.Fatalf("%s as %s gives\n%s", text, form, got)
			}
			// The table has a heading and a row for each reading.
			if n := len(clitest.Lines(got)); n > 2 && !strings.HasPrefix(form, "base") || n > 3 {
				t.Fatalf("%s gives\n%s", text, got)
			}
		}
	}
}

// A text that gives a likely time both in base 58 and in base 62 is printed twice. With --json
// it is an error, because a program would take the first ID without a warning. --since can
// exclude one of the two times, and the text is then read in one form.
func TestParseAmbiguous(t *testing.T) {
	t.Parallel()
	const both = "2WuoLaixQLF" // each of its digits is also a digit of base 58
	got := clitest.Printed(t, clitest.AtNoon(nil, "parse", both))
	if strings.Count(got, "read as") != 2 || !strings.Contains(got, "read as     base58\ntime        2017-") || !strings.Contains(got, "read as     base62\ntime        2026-") {
		t.Errorf("got\n%s", got)
	}
	clitest.WantUsage(t, clitest.AtNoon(nil, "parse", "--json", both), "is ambiguous: 835533801908298343 of 2017-02-25T16:55:56.499Z as base58, 2124189854310229301 of 2026-11-21T17:15:01.463Z as base62: say which with --as")
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "--since", "2020-01-01", "--json", both)); !strings.Contains(got, `"form":"base62"`) {
		t.Error(got)
	}
}

// If the epoch lies in the future, no time from --since to --until exists. parse still
// reads a decimal argument, because it does not check the time of such an argument.
func TestParseEpochAhead(t *testing.T) {
	t.Parallel()
	if got := clitest.Printed(t, clitest.AtNoon(nil, "parse", "5", "--epoch", "2030-01-01T00:00:00Z")); !strings.Contains(got, "2030-01-01T00:00:00.000Z") {
		t.Error(got)
	}
}

// An argument that is not an ID is a usage error, which says why. A file that cannot be
// read is a failure.
func TestParseMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-5"}, "-5 is neither a flag nor an ID: no ID is negative"},
		{[]string{"--", "-5"}, `"-5" is not an ID`},
		{[]string{"--as", "decimal", "--", "-5"}, "no ID is negative"},
		{[]string{"2.12419E+18"}, `"2.12419E+18" is what a spreadsheet leaves of a number: the last 13 digits of its 19 are lost`},
		{[]string{""}, `"" is not an ID`},
		{[]string{"0"}, "0 is not an ID: it stands for one that is not assigned yet"},
		{[]string{"007"}, "leading zero"},
		{[]string{"9223372036854775808"}, "out of range: want at most 9223372036854775807"},
		{[]string{"99999999999999999999"}, "out of range: want at most 9223372036854775807"},
		{[]string{"9007199254740992", "--layout", "js-safe"}, "9007199254740992 is too large: want at most 9007199254740991, the last ID of the layout"},
		{[]string{"abc"}, `"abc" is not an ID with a time from 2010-11-05T01:42:54.657Z to 2026-11-22T12:00:00.000Z`},
		{[]string{"hello, world"}, `"hello, world" is not an ID: want decimal, hex such as 0x1d7a, base32, base58 or base62, or a serial number`},
		{[]string{"\x1b[31m\xff\x00"}, `"\x1b[31m\xff\x00" is not an ID`},
		{[]string{strings.Repeat("a", 1000)}, strings.Repeat("a", 64) + `"… is not an ID`},
		{[]string{"1", "--as", "octal"}, `--as "octal": want one of auto, decimal, base32, base58, base62, hex, serial`},
		{[]string{"1", "--as", "serial"}, `"1" is not a serial number`},
		{[]string{"1", "--as", "serial", "--code", "PAY"}, "is not a serial number"},
		{[]string{"1", "--code", "pay"}, "--code: serial:"},
		{[]string{"1", "--json", "--table"}, "flags [json table], or their variables, exclude each other: want one of them"},
		{[]string{"1", "--file", "x"}, "IDs and --file are both given"},
		{[]string{"1", "--since", "long ago"}, clitest.WantTimeText},
		{[]string{"4194304", "text"}, `"text" is not an ID`},
		{[]string{"1", "-"}, `"-" is not an ID`},
	} {
		clitest.WantUsage(t, clitest.AtNoon(strings.NewReader(""), append([]string{"parse"}, test.args...)...), test.want)
	}
	folder := t.TempDir()
	clitest.WantOneLine(t, clitest.Command(t, "parse", "--file", filepath.Join(folder, "missing")), "no such file")
	clitest.WantOneLine(t, clitest.Command(t, "parse", "--file", folder), "is a directory")
	broken := iotest.TimeoutReader(strings.NewReader(strings.Repeat("x", 1<<10)))
	clitest.WantOneLine(t, clitest.CommandWith(t.Context(), broken, "parse"), "timeout")
}

// parse finds the IDs in a text and leaves all other bytes as they are, however the reads
// split the text. It leaves numbers that only contain the digits of an ID.
func TestParseText(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t).String()
	hex := fmt.Sprintf("%#x", clitest.Sample(t).Int64())
	annotated := id + "(2026-11-21T11:00:00.000Z datacenter 1 worker 7 sequence 42)"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"alone", id, annotated},
		{"a line", id + "\n", annotated + "\n"},
		{"CRLF", "a " + id + "\r\nb\r\n", "a " + annotated + "\r\nb\r\n"},
		{"two in a line", id + "," + id, annotated + "," + annotated},
		{"quoted", `{"id":"` + id + `","n":12}`, `{"id":"` + annotated + `","n":12}`},
		{"path", "GET /orders/" + id + "?x=1", "GET /orders/" + annotated + "?x=1"},
		{"prefixed", "order_" + id + " order-" + id + ".json", "order_" + annotated + " order-" + annotated + ".json"},
		{"end of a sentence", "It is " + id + ".", "It is " + annotated + "."},
		{"end of a sentence and line", id + ".\n1", annotated + ".\n1"},
		{"negative", "-" + id + " id=-" + id + " {-" + id + "}", "-" + id + " id=-" + id + " {-" + id + "}"},
		{"list of YAML", "- " + id, "- " + annotated},
		{"hex", hex + " " + strings.ToUpper(hex), hex + annotated[len(id):] + " " + strings.ToUpper(hex) + annotated[len(id):]},
		{"UTF-16, little endian", utf16Text(binary.LittleEndian, "ä "+id+"\n"), "ä " + annotated + "\n"},
		{"UTF-16, big endian", utf16Text(binary.BigEndian, "ä "+id+"\n"), "ä " + annotated + "\n"},
		{"part of a word", "a" + id + " " + id + "b 0x" + id, "a" + id + " " + id + "b 0x" + id},
		{"fraction", "0." + id + " " + id + ".5", "0." + id + " " + id + ".5"},
		{"binary", "\x00\xff\xfe" + id + "\x80\n\x00", "\x00\xff\xfe" + annotated + "\x80\n\x00"},
		{"letters that are not ASCII", "ä" + id + "ß", "ä" + annotated + "ß"},
		{"small numbers", "200 1795258800000 1795258800", "200 1795258800000 1795258800"},
		{"the far future", "9223372036854775807 9223372036854775808", "9223372036854775807 9223372036854775808"},
		{"leading zero", "0" + id, "0" + id},
		{"too many digits", id + id, id + id},
		{"a long word", strings.Repeat("1", 1000) + " " + id, strings.Repeat("1", 1000) + " " + annotated},
	} {
		for how, in := range map[string]io.Reader{
			"whole": strings.NewReader(test.text), "bytes": iotest.OneByteReader(strings.NewReader(test.text)),
			"halves": iotest.HalfReader(strings.NewReader(test.text)), "with the end": iotest.DataErrReader(strings.NewReader(test.text)),
		} {
			if got := clitest.Printed(t, clitest.AtNoon(in, "parse")); got != test.want {
				t.Errorf("%s, %s: got %q, want %q", test.name, how, got, test.want)
			}
		}
	}
}

// utf16Text encodes the text with a byte order mark.
func utf16Text(order binary.AppendByteOrder, text string) string {
	b := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// --json-log adds one field to each line and leaves the other bytes unchanged.
func TestParseJSONLog(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t).String()
	field := `"snowflake_ids":[{"id":"` + id + `","time":"2026-11-21T11:00:00.000Z","datacenter":1,"worker":7,"sequence":42}]`
	for _, test := range []struct{ name, text, want string }{
		{"a number", `{"id":` + id + `}`, `{"id":` + id + `,` + field + `}`},
		{"a text", `{ "msg": "order ` + id + ` paid" } `, `{ "msg": "order ` + id + ` paid" ,` + field + `} `},
		{"twice", `{"a":"` + id + `","b":["` + id + `"]}` + "\r\n", `{"a":"` + id + `","b":["` + id + `"],` + field + "}\r\n"},
		{"nested", `{"a":{"b":"` + id + `"}}`, `{"a":{"b":"` + id + `"},` + field + `}`},
		{"none", `{"a":1}` + "\n" + `{}` + "\n", `{"a":1}` + "\n" + `{}` + "\n"},
		{"another line", "panic: " + id + "\n", "panic: " + id + "\n"},
		{"an array", `["` + id + `"]`, `["` + id + `"]`},
		{"broken", `{"id":"` + id + `"`, `{"id":"` + id + `"`},
		{"done already", `{"id":` + id + `,` + field + `}`, `{"id":` + id + `,` + field + `}`},
	} {
		if got := clitest.Printed(t, clitest.AtNoon(strings.NewReader(test.text), "parse", "--json-log")); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
	clitest.WantUsage(t, clitest.AtNoon(nil, "parse", "--json-log", id), "--json-log is for text, and IDs are given")
}

// --table and --json print the IDs of a text in place of the text, and JSON has the file and
// the line. The empty third line counts.
func TestParseTextRecords(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t)
	text := "one\n" + id.String() + "\n\n" + id.String() + " and PAY2026112111000000001070042\n"
	const want = `ID                   TIME                      DATACENTER  WORKER  SEQUENCE  FORM     DOUBT
2124095476331606058  2026-11-21T11:00:00.000Z           1       7        42  decimal
2124095476331606058  2026-11-21T11:00:00.000Z           1       7        42  decimal
2124095476331606058  2026-11-21T11:00:00.000Z           1       7        42  serial
`
	if got := clitest.Printed(t, clitest.AtNoon(strings.NewReader(text), "parse", "--table", "--code", "PAY", "-")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	file := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := clitest.Lines(clitest.Printed(t, clitest.AtNoon(nil, "parse", "--json", "--as", "decimal", "-f", file, "-f", file)))
	if len(got) != 4 {
		t.Fatalf("lines = %q, want 4", got)
	}
	// The IDs are in lines 2 and 4 of the file, which is read twice.
	for i, line := range got {
		if part := fmt.Sprintf(`{"file":%q,"line":%d,"form":"decimal","id":"2124095476331606058",`, file, 2+i%2*2); !strings.HasPrefix(line, part) {
			t.Errorf("line %d is %s, want %s…", i, line, part)
		}
	}
	if got := clitest.Printed(t, clitest.AtNoon(strings.NewReader("a "+id.Base58()+" b"), "parse", "--as", "base58", "--table")); !strings.Contains(got, "  base58\n") {
		t.Error(got)
	}
}

// parse annotates all IDs in lines of nearly 1 MiB. A longer line is an error.
func TestParseLongLine(t *testing.T) {
	t.Parallel()
	id := clitest.Sample(t).String()
	random := rand.New(rand.NewPCG(3, 4))
	var text bytes.Buffer
	want := 0
	for range 10 {
		var line strings.Builder
		for line.Len() < 1<<20-400 {
			line.WriteString(strings.Repeat("x", random.IntN(300)) + " " + id + " ")
			want++
		}
		text.WriteString(line.String() + strings.Repeat("y", 1<<20-line.Len()-1) + "\n")
	}
	got := clitest.Printed(t, clitest.AtNoon(&text, "parse"))
	if n := strings.Count(got, id+"(2026-11-21T11:00:00.000Z "); n != want {
		t.Errorf("%d IDs found, want %d", n, want)
	}
	if n := strings.Count(got, "\n"); n != 10 {
		t.Errorf("%d lines, want 10", n)
	}
	long := "a\n" + strings.Repeat("x ", 1<<19) + "\n"
	clitest.WantOneLine(t, clitest.CommandWith(t.Context(), strings.NewReader(long), "parse"), `line 2 of standard input is longer than 1 MiB: break it first, as tr , '\n' does`)
}

// parse leaves the text as it is, except that it inserts notes. The notes do not depend
// on how the reads split the text.
func FuzzParseText(f *testing.F) {
	f.Add([]byte("a 2124095476331606058.\n"), uint8(3))
	f.Add([]byte("0.2124095476331606058.5 2124095476331606058.x\x00\xff"), uint8(1))
	f.Add([]byte("PAY-20220628160740105-11-26-0000 PAY-20220628160740105-11-26-00000 A.20220628160740105.11.26.0000"), uint8(2))
	f.Add(bytes.Repeat([]byte("2124095476331606058"), 20), uint8(7))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		whole := clitest.Printed(t, clitest.AtNoon(bytes.NewReader(text), "parse"))
		cut := clitest.Printed(t, clitest.AtNoon(cutReader{bytes.NewReader(text), int(size) + 1}, "parse"))
		if whole != cut {
			t.Errorf("whole: %q, in pieces: %q", whole, cut)
		}
		// A text that contains a note itself would lose it in the comparison.
		if !note.Match(text) && note.ReplaceAllString(whole, "") != string(text) {
			t.Errorf("%q became %q", text, whole)
		}
	})
}

// note matches the text that parse inserts after an ID.
var note = regexp.MustCompile(`\(20[-0-9]+T[:.0-9]+Z datacenter \d+ worker \d+ sequence \d+\)`)

// A cutReader reads at most n bytes at a time.
type cutReader struct {
	in io.Reader
	n  int
}

func (r cutReader) Read(p []byte) (int, error) { return r.in.Read(p[:min(len(p), r.n)]) }
