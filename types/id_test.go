package types_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]types.ID{
		"0":                   0,
		"7":                   7,
		"42":                  42,
		"9007199254740993":    1<<53 + 1,
		"7529595880471527425": sample,
		"9223372036854775807": math.MaxInt64,
	} {
		got, err := types.ParseID(in)
		if err != nil || got != want {
			t.Errorf("ParseID(%q) = %d, %v; want %d", in, int64(got), err, int64(want))
		}
	}
}

// badDecimals are texts that are not IDs, with the texts of their errors.
var badDecimals = []struct{ name, in, want string }{
	{"empty", "", `(""): empty: want decimal digits`},
	{"minus", "-5", `("-5"): unexpected '-' at offset 0: want decimal digits only`},
	{"plus", "+5", `("+5"): unexpected '+' at offset 0: want decimal digits only`},
	{"blank before", " 5", `(" 5"): unexpected ' ' at offset 0: want decimal digits only`},
	{"blank after", "5 ", `("5 "): unexpected ' ' at offset 1: want decimal digits only`},
	{"line end", "5\n", `("5\n"): unexpected '\n' at offset 1: want decimal digits only`},
	{"blank only", " ", `(" "): unexpected ' ' at offset 0: want decimal digits only`},
	{"fraction", "5.0", `("5.0"): unexpected '.' at offset 1: want decimal digits only`},
	{"exponent", "1e3", `("1e3"): unexpected 'e' at offset 1: want decimal digits only`},
	{"underscore", "1_000", `("1_000"): unexpected '_' at offset 1: want decimal digits only`},
	{"hexadecimal", "0x1F", `("0x1F"): unexpected 'x' at offset 1: want decimal digits only`},
	{"letters", "abc", `("abc"): unexpected 'a' at offset 0: want decimal digits only`},
	{"before '0'", "1/2", `("1/2"): unexpected '/' at offset 1: want decimal digits only`},
	{"after '9'", "1:2", `("1:2"): unexpected ':' at offset 1: want decimal digits only`},
	{"other digits", "٣", `("٣"): unexpected '٣' at offset 0: want decimal digits only`},
	{"no UTF-8", "1\xff", `("1\xff"): unexpected '�' at offset 1: want decimal digits only`},
	{"SQL", "1 OR 1=1", `("1 OR 1=1"): unexpected ' ' at offset 1: want decimal digits only`},
	{"zeros", "00", `("00"): leading zero: want the shortest form`},
	{"leading zero", "042", `("042"): leading zero: want the shortest form`},
	{"leading zero, long", "07529595880471527425", `("07529595880471527425"): leading zero: want the shortest form`},
	{"leading zero, all else right", "0529595880471527425", `("0529595880471527425"): leading zero: want the shortest form`},
	{"2^63", "9223372036854775808", `("9223372036854775808"): out of range: want at most 9223372036854775807`},
	{"2^64-1", "18446744073709551615", `("18446744073709551615"): out of range: want at most 9223372036854775807`},
	{"2^64+42", "18446744073709551658", `("18446744073709551658"): out of range: want at most 9223372036854775807`},
	{"19 nines", "9999999999999999999", `("9999999999999999999"): out of range: want at most 9223372036854775807`},
	{
		"long", strings.Repeat("1", 5000),
		`("` + strings.Repeat("1", 64) + `"... of 5000 bytes): out of range: want at most 9223372036854775807`,
	},
}

// ParseID accepts one text for each ID. The error shows the first wrong character, or the
// reason.
func TestParseIDErrors(t *testing.T) {
	t.Parallel()
	for _, test := range badDecimals {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, err := types.ParseID(test.in)
			checkError(t, id, err, "types: ParseID"+test.want)
		})
	}
}

// Digits are read eight at a time, and the last digits singly. No other byte may count
// as a digit at any offset in a text of any length, or change the value of other
// digits.
func TestEveryByteAtEveryOffset(t *testing.T) {
	t.Parallel()
	const digits = "7529595880471527425"
	for length := range len(digits) + 1 {
		for offset := range length {
			for b := range 256 {
				text := []byte(digits[:length])
				text[offset] = byte(b)
				checkDecimal(t, string(text))
			}
		}
	}
}

// checkDecimal fails t unless ParseID and UnmarshalJSON read the same number from s as
// strconv. They must return an error if strconv does, and also if s has a leading zero.
func checkDecimal(t *testing.T, s string) {
	t.Helper()
	want, err := strconv.ParseUint(s, 10, 63)
	valid := err == nil && (s[0] != '0' || s == "0")
	if !valid {
		want = 0
	}
	for name, read := range map[string]func() (types.ID, error){
		"ParseID":                   func() (types.ID, error) { return types.ParseID(s) },
		"UnmarshalJSON of a string": func() (id types.ID, err error) { err = id.UnmarshalJSON([]byte(`"` + s + `"`)); return },
		"UnmarshalJSON of a number": func() (id types.ID, err error) { err = id.UnmarshalJSON([]byte(s)); return },
	} {
		got, err := read()
		if (err == nil) != valid || got != types.ID(want) {
			t.Errorf("%s, %q: %d, %v; want %d", name, s, int64(got), err, want)
		}
	}
}

// MustParseID panics with the error of ParseID.
func TestMustParseID(t *testing.T) {
	t.Parallel()
	if got := types.MustParseID("7529595880471527425"); got != sample {
		t.Errorf("got %d, want %d", int64(got), int64(sample))
	}
	defer func() {
		err, _ := recover().(error)
		checkError(t, 0, err, `types: ParseID("x"): unexpected 'x' at offset 0: want decimal digits only`)
	}()
	types.MustParseID("x")
}

// The digits are computed eight at a time, and must be those of strconv.
func TestStringAgreesWithStrconv(t *testing.T) {
	t.Parallel()
	eachID(func(id types.ID) {
		want := strconv.FormatInt(id.Int64(), 10)
		if got := id.String(); got != want {
			t.Errorf("String of %s = %q", want, got)
		}
		if got, err := id.MarshalText(); string(got) != want || err != nil {
			t.Errorf("MarshalText of %s = %q, %v", want, got, err)
		}
		if got, err := id.AppendText([]byte("id=")); string(got) != "id="+want || err != nil {
			t.Errorf("AppendText of %s = %q, %v", want, got, err)
		}
	})
}

func TestParseIDReadsString(t *testing.T) {
	t.Parallel()
	eachID(func(id types.ID) {
		got, err := types.ParseID(id.String())
		if id < 0 {
			if err == nil || got != 0 {
				t.Errorf("ParseID(%q) = %d, %v; want an error", id, int64(got), err)
			}
			return
		}
		if got != id || err != nil {
			t.Errorf("ParseID(%q) = %d, %v", id, int64(got), err)
		}
	})
}

func TestIsZero(t *testing.T) {
	t.Parallel()
	for id, want := range map[types.ID]bool{0: true, 1: false, -1: false, sample: false} {
		if got := id.IsZero(); got != want {
			t.Errorf("ID(%d).IsZero() = %t", int64(id), got)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	got := []types.ID{3, math.MaxInt64, -1, 0, math.MinInt64, 3}
	slices.SortFunc(got, types.ID.Compare)
	if want := []types.ID{math.MinInt64, -1, 0, 3, 3, math.MaxInt64}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := sample.Compare(sample); got != 0 {
		t.Errorf("an ID compared with itself gives %d, want 0", got)
	}
}
