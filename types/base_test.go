package types_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// bases are the text forms, for tests that apply to all of them.
var bases = []struct {
	name   string
	format func(types.ID) string
	parse  func(string) (types.ID, error)
	zero   string // the text of ID 0
}{
	{"Base32", types.ID.Base32, types.ParseBase32, "0000000000000"},
	{"Base58", types.ID.Base58, types.ParseBase58, "1"},
	{"Base62", types.ID.Base62, types.ParseBase62, "0"},
}

// Golden vectors, computed by a separate program. Do NOT edit them, because these texts
// are in other people's links.
var golden = []struct {
	id                     types.ID
	base32, base58, base62 string
}{
	{0, "0000000000000", "1", "0"},
	{1, "0000000000001", "2", "1"},
	{31, "000000000000Z", "x", "V"},
	{57, "000000000001S", "Z", "v"},
	{58, "000000000001T", "21", "w"},
	{61, "000000000001X", "24", "z"},
	{62, "000000000001Y", "25", "10"},
	{4096, "0000000000400", "2dC", "144"},
	{1 << 53, "0080000000000", "2dknRmrjUG", "fFgnDxSe8"},
	{sample, "6GZKZHX6W0001", "itHZvQpvpLn", "8yDczw4p4gT"},
	{math.MaxInt64, "7ZZZZZZZZZZZZ", "npL6MjP8Qfc", "AzL8n0Y58m7"},
	{-1, "-0000000000001", "-2", "-1"},
	{math.MinInt64, "-8000000000000", "-npL6MjP8Qfd", "-AzL8n0Y58m8"},
}

func TestBaseGolden(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		want := []string{g.base32, g.base58, g.base62}
		for i, base := range bases {
			if got := base.format(g.id); got != want[i] {
				t.Errorf("%s of %d = %q, want %q", base.name, int64(g.id), got, want[i])
			}
		}
	}
}

// Each parser reads what its formatter writes, except for negative IDs, which no parser
// accepts.
func TestBaseRoundTrip(t *testing.T) {
	t.Parallel()
	for _, base := range bases {
		eachID(func(id types.ID) {
			text := base.format(id)
			got, err := base.parse(text)
			switch {
			case id < 0 && (err == nil || got != 0):
				t.Errorf("%s reads %q of a negative ID as %d, %v", base.name, text, int64(got), err)
			case id >= 0 && (err != nil || got != id):
				t.Errorf("%s reads %q of %d as %d, %v", base.name, text, int64(id), int64(got), err)
			}
		})
	}
}

// Base62 writes the same digits as package math/big. That package puts lower case before
// upper case, so the test swaps the case of its text.
func TestBase62AgreesWithMathBig(t *testing.T) {
	t.Parallel()
	swapCase := strings.NewReplacer(swapPairs()...)
	eachID(func(id types.ID) {
		want := swapCase.Replace(big.NewInt(id.Int64()).Text(62))
		if got := id.Base62(); got != want {
			t.Errorf("Base62 of %d = %q, want %q", int64(id), got, want)
		}
	})
}

// swapPairs returns the arguments for a strings.Replacer that swaps upper and lower case.
func swapPairs() (pairs []string) {
	for c := 'a'; c <= 'z'; c++ {
		lower, upper := string(c), strings.ToUpper(string(c))
		pairs = append(pairs, lower, upper, upper, lower)
	}
	return pairs
}

// Texts in base 32 have one length and sort as their IDs do.
func TestBase32SortsAsTheNumber(t *testing.T) {
	t.Parallel()
	var last types.ID
	eachID(func(id types.ID) {
		if id < 0 {
			return
		}
		if got, want := strings.Compare(last.Base32(), id.Base32()), last.Compare(id); got != want {
			t.Errorf("%s and %s compare as %d, their IDs as %d", last.Base32(), id.Base32(), got, want)
		}
		last = id
	})
}

// ParseBase32 reads lower case, and the letters that people write for 0 and 1.
func TestParseBase32AsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]types.ID{
		"6GZKZHX6W0001": sample, "6gzkzhx6w0001": sample, "6GzKzHx6WoOoI": sample,
		"6gzkzhx6wOOOi": sample, "6gzkzhx6wOOOl": sample, "6gzkzhx6wOOOL": sample,
		"7zzzzzzzzzzzz": math.MaxInt64,
	} {
		got, err := types.ParseBase32(in)
		if err != nil || got != want {
			t.Errorf("ParseBase32(%q) = %d, %v; want %d", in, int64(got), err, int64(want))
		}
	}
}

// Two texts must not be one ID (except for the other spellings of base 32), so that texts
// can be compared. An error quotes the text, or its beginning.
func TestParseBaseErrors(t *testing.T) {
	t.Parallel()
	const overflow = "out of range: want at most 9223372036854775807"
	long := strings.Repeat("Z", 1000)
	for _, test := range []struct {
		name  string
		parse func(string) (types.ID, error)
		in    string
		want  string
	}{
		{"32 empty", types.ParseBase32, "", `ParseBase32(""): length 0: want 13 characters`},
		{"32 short", types.ParseBase32, "1", `ParseBase32("1"): length 1: want 13 characters`},
		{"32 long", types.ParseBase32, "00000000000001", `ParseBase32("00000000000001"): length 14: want 13 characters`},
		{"32 negative", types.ParseBase32, "-0000000000001", `ParseBase32("-0000000000001"): length 14: want 13 characters`},
		{"32 U", types.ParseBase32, "000000000000U", `ParseBase32("000000000000U"): unexpected 'U' at offset 12: want digits of base 32 only`},
		{"32 u", types.ParseBase32, "u000000000000", `ParseBase32("u000000000000"): unexpected 'u' at offset 0: want digits of base 32 only`},
		{"32 hyphen", types.ParseBase32, "000000-000000", `ParseBase32("000000-000000"): unexpected '-' at offset 6: want digits of base 32 only`},
		{"32 check symbol", types.ParseBase32, "000000000000*", `ParseBase32("000000000000*"): unexpected '*' at offset 12: want digits of base 32 only`},
		{"32 blank", types.ParseBase32, " 000000000001", `ParseBase32(" 000000000001"): unexpected ' ' at offset 0: want digits of base 32 only`},
		{"32 no ASCII", types.ParseBase32, "00000000000é", `ParseBase32("00000000000é"): unexpected 'é' at offset 11: want digits of base 32 only`},
		{"32 2^63", types.ParseBase32, "8000000000000", `ParseBase32("8000000000000"): ` + overflow},
		{"32 65 bits", types.ParseBase32, "ZZZZZZZZZZZZZ", `ParseBase32("ZZZZZZZZZZZZZ"): ` + overflow},
		{"32 bits that would fall off", types.ParseBase32, "G000000000001", `ParseBase32("G000000000001"): ` + overflow},
		{"58 empty", types.ParseBase58, "", `ParseBase58(""): empty: want digits of base 58 only`},
		{"58 negative", types.ParseBase58, "-2", `ParseBase58("-2"): unexpected '-' at offset 0: want digits of base 58 only`},
		{"58 zero", types.ParseBase58, "20", `ParseBase58("20"): unexpected '0' at offset 1: want digits of base 58 only`},
		{"58 O", types.ParseBase58, "O", `ParseBase58("O"): unexpected 'O' at offset 0: want digits of base 58 only`},
		{"58 I", types.ParseBase58, "I", `ParseBase58("I"): unexpected 'I' at offset 0: want digits of base 58 only`},
		{"58 l", types.ParseBase58, "l", `ParseBase58("l"): unexpected 'l' at offset 0: want digits of base 58 only`},
		{"58 no ASCII", types.ParseBase58, "2ü", `ParseBase58("2ü"): unexpected 'ü' at offset 1: want digits of base 58 only`},
		{"58 zero in front", types.ParseBase58, "12", `ParseBase58("12"): leading '1', which is the digit zero: want the shortest form`},
		{"58 zeros", types.ParseBase58, "11", `ParseBase58("11"): leading '1', which is the digit zero: want the shortest form`},
		{"58 2^63", types.ParseBase58, "npL6MjP8Qfd", `ParseBase58("npL6MjP8Qfd"): ` + overflow},
		{"58 13 Z", types.ParseBase58, "ZZZZZZZZZZZZZ", `ParseBase58("ZZZZZZZZZZZZZ"): ` + overflow},
		{"58 2^64+1", types.ParseBase58, "JPwcyDCgEur", `ParseBase58("JPwcyDCgEur"): ` + overflow},
		{"58 long", types.ParseBase58, long, `ParseBase58("` + long[:64] + `"... of 1000 bytes): ` + overflow},
		{"58 as long as is quoted", types.ParseBase58, long[:64], `ParseBase58("` + long[:64] + `"): ` + overflow},
		{"62 empty", types.ParseBase62, "", `ParseBase62(""): empty: want digits of base 62 only`},
		{"62 negative", types.ParseBase62, "-1", `ParseBase62("-1"): unexpected '-' at offset 0: want digits of base 62 only`},
		{"62 plus", types.ParseBase62, "+1", `ParseBase62("+1"): unexpected '+' at offset 0: want digits of base 62 only`},
		{"62 underscore", types.ParseBase62, "1_", `ParseBase62("1_"): unexpected '_' at offset 1: want digits of base 62 only`},
		{"62 zero in front", types.ParseBase62, "01", `ParseBase62("01"): leading '0', which is the digit zero: want the shortest form`},
		{"62 2^63", types.ParseBase62, "AzL8n0Y58m8", `ParseBase62("AzL8n0Y58m8"): ` + overflow},
		{"62 2^64+1", types.ParseBase62, "LygHa16AHYH", `ParseBase62("LygHa16AHYH"): ` + overflow},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, err := test.parse(test.in)
			checkError(t, id, err, "types: "+test.want)
		})
	}
}

// A parser accepts a byte as a digit only if a formatter writes it (or, in base 32, if
// it is an alternative spelling).
func TestBaseDigits(t *testing.T) {
	t.Parallel()
	for i, digits := range []string{
		"0123456789ABCDEFGHJKMNPQRSTVWXYZ" + "abcdefghjkmnpqrstvwxyz" + "iIlLoO",
		"123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ",
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	} {
		base := bases[i]
		for c := range 256 {
			in := base.zero[1:] + string([]byte{byte(c)})
			_, err := base.parse(in)
			if want := strings.IndexByte(digits, byte(c)) >= 0; (err == nil) != want {
				t.Errorf("%s: %q gives %v", base.name, in, err)
			}
		}
	}
}
