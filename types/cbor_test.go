package types_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// The integers of RFC 8949, appendix A, that an ID can have, and the limits of each
// length. Do NOT edit them, because these bytes are in other people's data.
var cborGolden = map[types.ID]string{
	0: "00", 1: "01", 10: "0a", 23: "17", 24: "1818", 25: "1819", 100: "1864", 1000: "1903e8",
	1_000_000: "1a000f4240", 1_000_000_000_000: "1b000000e8d4a51000", -1: "20", -10: "29", -100: "3863", -1000: "3903e7",

	math.MaxUint8: "18ff", math.MaxUint8 + 1: "190100", math.MaxUint16: "19ffff", math.MaxUint16 + 1: "1a00010000",
	math.MaxUint32: "1affffffff", math.MaxUint32 + 1: "1b0000000100000000", -24: "37", -25: "3818",
	sample: "1b687e7f8f4dc00001", math.MaxInt64: "1b7fffffffffffffff", math.MinInt64: "3b7fffffffffffffff",
}

func TestCBORGolden(t *testing.T) {
	t.Parallel()
	for want, text := range cborGolden {
		b, err := want.MarshalCBOR()
		if err != nil || hex.EncodeToString(b) != text {
			t.Errorf("MarshalCBOR of %d = %x, %v: want %s", int64(want), b, err, text)
		}
		if got, err := fromCBOR(t, 99, text); err != nil || got != want {
			t.Errorf("UnmarshalCBOR(%s) = %d, %v: want %d", text, int64(got), err, int64(want))
		}
	}
}

// fromCBOR reads a data item, given in hexadecimal, into the ID.
func fromCBOR(t *testing.T, id types.ID, text string) (types.ID, error) {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	err = id.UnmarshalCBOR(b)
	return id, err
}

func TestCBORRoundTrip(t *testing.T) {
	t.Parallel()
	eachID(func(id types.ID) {
		b, _ := id.MarshalCBOR()
		back := types.ID(99)
		if err := back.UnmarshalCBOR(b); err != nil || back != id {
			t.Errorf("UnmarshalCBOR(%x) = %d, %v: want %d", b, int64(back), err, int64(id))
		}
	})
}

// UnmarshalCBOR also reads strings, and forms that are longer than needed. Null does not
// change the ID.
func TestUnmarshalCBOR(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in string
		want     types.ID
	}{
		{"text", "6237" + "35", 75},
		{"text of 19 digits", "7337353239353935383830343731353237343235", sample},
		{"bytes", "423735", 75},
		{"longer than needed", "1b0000000000000005", 5},
		{"text with a length longer than needed", "7803373535", 755},
		{"null", "f6", 99},
		{"undefined", "f7", 99},
	} {
		if got, err := fromCBOR(t, 99, test.in); err != nil || got != test.want {
			t.Errorf("%s: got %d, %v: want %d", test.name, int64(got), err, int64(test.want))
		}
	}
}

// A data item that is cut off, too long or of another type is an error, and must not be
// read beyond its end.
func TestUnmarshalCBORErrors(t *testing.T) {
	t.Parallel()
	const other = "want an integer of 64 bits or its decimal text"
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", `(""): ` + other},
		{"2^63", "1b8000000000000000", `("\x1b\x80\x00\x00\x00\x00\x00\x00\x00"): ` + other},
		{"-2^63-1", "3b8000000000000000", `(";\x80\x00\x00\x00\x00\x00\x00\x00"): ` + other},
		{"cut off", "1b7fffffff", `("\x1b\x7f\xff\xff\xff"): ` + other},
		{"more", "0505", `("\x05\x05"): ` + other},
		{"more after an argument", "182005", `("\x18 \x05"): ` + other},
		{"float", "f94500", `("\xf9E\x00"): ` + other},
		{"true", "f5", `("\xf5"): ` + other},
		{"array", "8105", `("\x81\x05"): ` + other},
		{"map", "a0", `("\xa0"): ` + other},
		{"tag", "c105", `("\xc1\x05"): ` + other},
		{"text in chunks", "7f6135ff", `("\x7fa5\xff"): ` + other},
		{"reserved", "1c", `("\x1c"): ` + other},
		{"reserved, with 16 bytes", "1c00000000000000000000000000000005", `("\x1c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05"): ` + other},
		{"text cut off", "6235", `("b5"): ` + other},
		{"text too long", "613535", `("a55"): ` + other},
		{"text of endless length", "7bffffffffffffffff35", `("{\xff\xff\xff\xff\xff\xff\xff\xff5"): ` + other},
		{"no digits", "6178", `("x"): unexpected 'x' at offset 0: want decimal digits only`},
		{"minus", "622d35", `("-5"): unexpected '-' at offset 0: want decimal digits only`},
		{"empty text", "60", `(""): empty: want decimal digits`},
		{"leading zero", "623035", `("05"): leading zero: want the shortest form`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			id, err := fromCBOR(t, sample, test.in)
			checkError(t, id, err, "types: ID.UnmarshalCBOR"+test.want)
		})
	}
}
