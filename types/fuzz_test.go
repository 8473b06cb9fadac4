package types_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// FuzzParseID compares ParseID with strconv. ParseID must accept exactly the texts that
// strconv writes for numbers that are not negative.
func FuzzParseID(f *testing.F) {
	for _, test := range badDecimals {
		f.Add(test.in)
	}
	f.Add("0")
	f.Add("7529595880471527425")
	f.Add("9223372036854775807")
	f.Fuzz(func(t *testing.T, in string) {
		n, err := strconv.ParseInt(in, 10, 64)
		valid := err == nil && n >= 0 && strconv.FormatInt(n, 10) == in
		got, err := types.ParseID(in)
		if !valid {
			n = 0
		}
		if (err == nil) != valid || got != types.ID(n) {
			t.Errorf("ParseID(%q) = %d, %v", in, int64(got), err)
		}
		if valid && got.String() != in {
			t.Errorf("ParseID(%q) is written as %q", in, got)
		}
	})
}

// FuzzUnmarshalJSON checks that UnmarshalJSON accepts only null, and a number or string that
// is the text of an ID. It must accept every such number that encoding/json reads into an
// int64.
func FuzzUnmarshalJSON(f *testing.F) {
	for _, in := range []string{
		`"7529595880471527425"`, `7529595880471527425`, `null`, `"null"`, `""`, `"`, `-5`, `"-5"`, `1.0`, `1e3`,
		`"042"`, `042`, `{}`, `[1]`, `true`, `9223372036854775808`, `"\u0034"`, ` 5`, `"5" `,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		id := types.ID(99)
		err := id.UnmarshalJSON(in)
		switch text := string(in); {
		case text == "null":
			if id != 99 || err != nil {
				t.Errorf("null gives %d, %v", int64(id), err)
			}
		case err != nil:
			if id != 0 {
				t.Errorf("%q gives %d with error %v", in, int64(id), err)
			}
		case text != id.String() && text != strconv.Quote(id.String()) || id < 0:
			t.Errorf("%q gives %d", in, int64(id))
		}
		var plain int64
		if json.Unmarshal(in, &plain) == nil && string(in) == strconv.FormatInt(plain, 10) && plain >= 0 && err != nil {
			t.Errorf("%q is refused: %v", in, err)
		}
	})
}

// FuzzScan compares Scan of text with strconv. If Scan reads a number from a string, it must
// read the same number from bytes and from an int64. Scan must read a uint64 exactly if an
// int64 can hold its value.
func FuzzScan(f *testing.F) {
	for _, in := range []string{
		"", "0", "-0", "+5", "-5", "00042", "7529595880471527425", "-9223372036854775808", "9223372036854775808", "5.0", " 5", "1_0", `"5"`, `"+5"`, `"`, `""5""`, `15"`, `"15`,
	} {
		f.Add(in, uint64(5))
	}
	f.Add("5", uint64(math.MaxInt64))
	f.Add("5", uint64(math.MaxInt64+1))
	f.Fuzz(func(t *testing.T, text string, number uint64) {
		digits := text
		if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
			digits = text[1 : n-1]
		}
		want, err := strconv.ParseInt(digits, 10, 64)
		valid := err == nil && !strings.HasPrefix(digits, "+")
		if !valid {
			want = 0
		}
		for _, src := range []any{text, []byte(text)} {
			checkScan(t, src, want, valid)
		}
		if valid {
			checkScan(t, want, want, true)
		}
		if number <= math.MaxInt64 {
			checkScan(t, number, int64(number), true)
		} else {
			checkScan(t, number, 0, false)
		}
	})
}

// checkScan checks that Scan reads want from src, or returns an error and zero if src is
// not valid.
func checkScan(t *testing.T, src any, want int64, valid bool) {
	t.Helper()
	id := types.ID(99)
	if err := id.Scan(src); (err == nil) != valid || id.Int64() != want {
		t.Errorf("Scan(%T %q) gives %d, %v; want %d", src, src, int64(id), err, want)
	}
}

// FuzzParseBase checks that the formatter writes every text that a parser accepts, in
// base 32 after replacing alternative spellings.
func FuzzParseBase(f *testing.F) {
	for _, g := range golden {
		f.Add(g.base32)
		f.Add(g.base58)
		f.Add(g.base62)
	}
	f.Add("ZZZZZZZZZZZZZ")
	f.Add("JPwcyDCgEur")
	f.Add("6gzkzhx6wOOOi")
	f.Add("")
	canonical := strings.NewReplacer("I", "1", "L", "1", "O", "0")
	f.Fuzz(func(t *testing.T, in string) {
		for _, base := range bases {
			id, err := base.parse(in)
			if err != nil {
				if id != 0 || !strings.HasPrefix(err.Error(), "types: Parse"+base.name+`("`) {
					t.Errorf("%s reads %q as %d, %v", base.name, in, int64(id), err)
				}
				continue
			}
			want := in
			if base.name == "Base32" {
				want = canonical.Replace(strings.ToUpper(in))
			}
			if got := base.format(id); got != want || id < 0 {
				t.Errorf("%s reads %q as %d, and writes %q", base.name, in, int64(id), got)
			}
		}
	})
}

// FuzzScanArray reads an array from the input, and writes the array as text in both forms,
// such as {1,2} and [1,2]. Scan must read the same array from each form.
func FuzzScanArray(f *testing.F) {
	for _, in := range []string{
		"{}", "[]", "{1,-5}", `["1", 2]`, "{NULL}", "{{1}}", "[2:3]={1,2}", "{", "",
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x14",
		"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x08h~\x7f\x8fM\xc0\x00\x01",
		"\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02\xff\xfe",
		"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14\xff\xff\xff\xff\x00\x00\x00\x01",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := types.IDs{99}
		if err := got.Scan(in); err != nil {
			if got != nil {
				t.Errorf("%q gives %v with error %v", in, got, err)
			}
			return
		}
		value, _ := got.Value()
		text, _ := value.(string)
		for _, form := range []string{text, "[" + text[1:len(text)-1] + "]"} {
			var again types.IDs
			if err := again.Scan(form); err != nil || !slices.Equal(again, got) {
				t.Errorf("%q gives %v, and %s %v, %v", in, got, form, again, err)
			}
		}
	})
}

// FuzzUnmarshalCBOR reads an ID from the input, and writes the ID. UnmarshalCBOR must read
// the same ID from this output. The output is the shortest form, so it must not be longer
// than the input. An input of one byte is an exception, because null does not change the ID.
func FuzzUnmarshalCBOR(f *testing.F) {
	for _, in := range cborGolden {
		b, _ := hex.DecodeString(in)
		f.Add(b)
	}
	f.Add([]byte("\xf6"))
	f.Add([]byte("a5"))
	f.Add([]byte("\x7b\xff\xff\xff\xff\xff\xff\xff\xff5"))
	f.Fuzz(func(t *testing.T, in []byte) {
		id := types.ID(99)
		if err := id.UnmarshalCBOR(in); err != nil {
			if id != 0 {
				t.Errorf("%x gives %d with error %v", in, int64(id), err)
			}
			return
		}
		b, _ := id.MarshalCBOR()
		var again types.ID
		if err := again.UnmarshalCBOR(b); err != nil || again != id || len(b) > len(in) && len(in) > 1 {
			t.Errorf("%x gives %d, and %x %d, %v", in, int64(id), b, int64(again), err)
		}
	})
}

// FuzzUnmarshalBinary compares UnmarshalBinary with Scan of text without quotation
// marks, and UnmarshalGQL with ParseID.
func FuzzUnmarshalBinary(f *testing.F) {
	for _, in := range []string{"", "0", "-0", "+5", "-5", "00042", "7529595880471527425", `"5"`, "5.0"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var binary, scanned, gql types.ID
		err, scanErr := binary.UnmarshalBinary([]byte(in)), scanned.Scan(in)
		if quoted := strings.HasPrefix(in, `"`); !quoted && (binary != scanned || (err == nil) != (scanErr == nil)) || quoted && err == nil {
			t.Errorf("%q gives %d, %v; Scan %d, %v", in, int64(binary), err, int64(scanned), scanErr)
		}
		parsed, parseErr := types.ParseID(in)
		if err := gql.UnmarshalGQL(in); gql != parsed || (err == nil) != (parseErr == nil) {
			t.Errorf("UnmarshalGQL(%q) gives %d, %v", in, int64(gql), err)
		}
	})
}
