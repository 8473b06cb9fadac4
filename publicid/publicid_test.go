package publicid_test

import (
	"bytes"
	"crypto/aes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/race"
	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

type order struct{}

// secret returns a secret in which each byte is fill.
func secret(fill byte) []byte { return bytes.Repeat([]byte{fill}, publicid.SecretSize) }

// codec returns a codec whose secret consists of the byte fill.
func codec(t testing.TB, fill byte, opts ...publicid.Option) *publicid.Codec {
	t.Helper()
	c, err := publicid.New(secret(fill), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kind returns the kind of publicid.For, and fails the test on an error.
func kind[K ~int64](t testing.TB, c *publicid.Codec, prefix string) publicid.Kind[K] {
	t.Helper()
	k, err := publicid.For[K](c, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// vector is an entry of testdata/vectors.json, a test vector for implementations in other
// languages.
type vector struct {
	Secret []byte   `json:"secret"` // base64
	Prefix string   `json:"prefix"`
	ID     types.ID `json:"id"`
	Text   string   `json:"text"`
}

// TestVectors checks that Format and Parse agree with the vectors of testdata/vectors.json,
// because existing links must work forever.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 8 {
		t.Fatalf("%d vectors, want 8 or more", len(vectors))
	}
	for _, v := range vectors {
		c, err := publicid.New(v.Secret)
		if err != nil {
			t.Fatal(err)
		}
		k := kind[types.ID](t, c, v.Prefix)
		if got := k.Format(v.ID); got != v.Text {
			t.Errorf("Format(%s) = %q, want %q", v.ID, got, v.Text)
		}
		if got, err := k.Parse(v.Text); got != v.ID || err != nil {
			t.Errorf("Parse(%q) = %s, %v, want %s", v.Text, got, err, v.ID)
		}
	}
}

// TestFormatAsDocumented checks that the format in the package comment is sufficient to
// make a text with other tools.
func TestFormatAsDocumented(t *testing.T) {
	t.Parallel()
	const (
		digits = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
		text   = "ord_"
	)
	block := []byte{0, 0, 0, 0, 0, 0, 0, 42, 0xc2, 0xc3, 0xdd, 0x51, 0x27, 0x67, 0x91, 0xf8} // 42, and the SHA-256 of publicid:ord
	c, err := aes.NewCipher(secret(7))
	if err != nil {
		t.Fatal(err)
	}
	c.Encrypt(block, block)
	n, base, digit := new(big.Int).SetBytes(block), big.NewInt(58), new(big.Int)
	want := ""
	for range 22 {
		n.QuoRem(n, base, digit)
		want = string(digits[digit.Int64()]) + want
	}
	if got := kind[types.ID](t, codec(t, 7), "ord").Format(42); got != text+want {
		t.Errorf("Format(42) = %q, want %q", got, text+want)
	}
}

// Parse rejects a text that was not made for this prefix with this secret. The text
// "another spelling" is the number of a valid text plus 2¹²⁸, which would be the same
// block if Parse ignored the overflow.
func TestParseRejects(t *testing.T) {
	t.Parallel()
	k := kind[types.Of[order]](t, codec(t, 1), "ord")
	good := k.Format(2124442649149294496)
	other := kind[types.ID](t, codec(t, 1), "inv").Format(2124442649149294496)
	foreign := kind[types.ID](t, codec(t, 2), "ord").Format(2124442649149294496)
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"prefix alone", "ord_"},
		{"truncated", good[:len(good)-1]},
		{"longer", good + "1"},
		{"space before", " " + good[:len(good)-1]},
		{"of another prefix", other},
		{"re-prefixed", "ord" + strings.TrimPrefix(other, "inv")},
		{"of another secret", foreign},
		{"prefix in upper case", "ORD" + good[3:]},
		{"without the underscore", "ord-" + good[4:]},
		{"an ID", "2124442649149294496"},
		{"a digit that is none", good[:len(good)-1] + "0"},
		{"a byte that is none", good[:len(good)-1] + "\xff"},
		{"largest digits", "ord_" + strings.Repeat("Z", 22)},
		{"2¹²⁸", "ord_" + base58(new(big.Int).Lsh(big.NewInt(1), 128))},
		{"another spelling", "ord_" + base58(new(big.Int).Add(number(t, good[4:]), new(big.Int).Lsh(big.NewInt(1), 128)))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if id, err := k.Parse(test.text); id != 0 || !errors.Is(err, publicid.ErrInvalid) {
				t.Errorf("Parse(%q) = %v, %v, want 0, ErrInvalid", test.text, id, err)
			}
		})
	}
}

// flickr holds the digits of base 58.
const flickr = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"

// base58 returns a number in 22 digits of base 58.
func base58(n *big.Int) string {
	text, digit := "", new(big.Int)
	for range 22 {
		n.QuoRem(n, big.NewInt(58), digit)
		text = string(flickr[digit.Int64()]) + text
	}
	return text
}

// number returns the number whose digits in base 58 are text.
func number(t *testing.T, text string) *big.Int {
	t.Helper()
	n := new(big.Int)
	for _, r := range text {
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(strings.IndexRune(flickr, r))))
	}
	return n
}

// TestParseRejectsForgeries checks that a text is rejected after any single character is
// changed.
func TestParseRejectsForgeries(t *testing.T) {
	t.Parallel()
	k := kind[types.ID](t, codec(t, 1), "ord")
	good := k.Format(2124442649149294496)
	for i := range good {
		for c := range 128 {
			text := good[:i] + string(rune(c)) + good[i+1:]
			if id, err := k.Parse(text); text != good && err == nil {
				t.Fatalf("Parse(%q) = %s, want an error: only %q was made", text, id, good)
			}
		}
	}
}

// TestParseRejectsIDsOfNoRow checks that Parse rejects a text that was made with the secret
// for this prefix, but from 0 or a negative number, which no row has as its ID. The last 8
// bytes of each block are the tag of the prefix.
func TestParseRejectsIDsOfNoRow(t *testing.T) {
	t.Parallel()
	c, err := aes.NewCipher(secret(7))
	if err != nil {
		t.Fatal(err)
	}
	k := kind[types.ID](t, codec(t, 7), "ord")
	for _, first := range []byte{0x00, 0x80, 0xff} { // 0 and two negative numbers
		block := []byte{first, 0, 0, 0, 0, 0, 0, 0, 0xc2, 0xc3, 0xdd, 0x51, 0x27, 0x67, 0x91, 0xf8}
		c.Encrypt(block, block)
		if id, err := k.Parse("ord_" + base58(new(big.Int).SetBytes(block))); !errors.Is(err, publicid.ErrInvalid) {
			t.Errorf("first byte %#x: Parse returns %d, %v, want ErrInvalid", first, id, err)
		}
	}
	block := []byte{0, 0, 0, 0, 0, 0, 0, 1, 0xc2, 0xc3, 0xdd, 0x51, 0x27, 0x67, 0x91, 0xf8} // the same with an ID
	c.Encrypt(block, block)
	if id, err := k.Parse("ord_" + base58(new(big.Int).SetBytes(block))); id != 1 || err != nil {
		t.Errorf("Parse returns %d, %v, want 1", id, err)
	}
}

// 0 and negative numbers, which no row has as its key, have no text. All other IDs have
// one.
func TestIDsWithoutText(t *testing.T) {
	t.Parallel()
	k := kind[types.ID](t, codec(t, 1), "ord")
	for _, id := range []types.ID{0, -1, math.MinInt64} {
		if got := k.Format(id); got != "" {
			t.Errorf("Format(%d) = %q, want none", id, got)
		}
	}
	for _, id := range []types.ID{1, math.MaxInt64} {
		if got, err := k.Parse(k.Format(id)); got != id || err != nil {
			t.Errorf("Parse(Format(%d)) = %d, %v", id, got, err)
		}
	}
}

// The zero Kind, which For has not returned, does not panic.
func TestZeroKind(t *testing.T) {
	t.Parallel()
	var k publicid.Kind[types.ID]
	if got := k.Format(1); got != "" {
		t.Errorf("Format(1) = %q, want none", got)
	}
	if _, err := k.Parse(strings.Repeat("1", 22)); !errors.Is(err, publicid.ErrInvalid) {
		t.Errorf("Parse: %v, want ErrInvalid", err)
	}
}

// After a change of the secret, texts of the old secret are read and not written, as long
// as WithRetired names it.
func TestRetired(t *testing.T) {
	t.Parallel()
	before := kind[types.ID](t, codec(t, 1), "ord")
	after := kind[types.ID](t, codec(t, 2, publicid.WithRetired(secret(9), secret(1))), "ord")
	old := before.Format(42)
	if id, err := after.Parse(old); id != 42 || err != nil {
		t.Errorf("a text of the retired secret: %d, %v, want 42", id, err)
	}
	if text := after.Format(42); text == old {
		t.Error("a retired secret is still used")
	} else if _, err := before.Parse(text); !errors.Is(err, publicid.ErrInvalid) {
		t.Errorf("a text of the new secret under the old one: %v, want ErrInvalid", err)
	}
	if _, err := kind[types.ID](t, codec(t, 2), "ord").Parse(old); !errors.Is(err, publicid.ErrInvalid) {
		t.Errorf("a text of a secret that is not named any more: %v, want ErrInvalid", err)
	}
}

// New and For return an error that names the mistake. A secret of zeros is probably one
// that was never read.
func TestMistakes(t *testing.T) {
	t.Parallel()
	c := codec(t, 1)
	tests := []struct {
		name, want string
		call       func() error
	}{
		{"short secret", "publicid: New: secret of 31 bytes: want 32 random ones", func() error { _, err := publicid.New(make([]byte, 31)); return err }},
		{"hexadecimal secret", "publicid: New: secret of 64 bytes: want 32", func() error { _, err := publicid.New(bytes.Repeat([]byte("a"), 64)); return err }},
		{"zero secret", "publicid: New: every byte of the secret is 0", func() error { _, err := publicid.New(make([]byte, 32)); return err }},
		{"short retired secret", "publicid: WithRetired: secret of 3 bytes", func() error { _, err := publicid.New(secret(1), publicid.WithRetired([]byte("old"))); return err }},
		{"no codec", "publicid: For: codec is nil", func() error { _, err := publicid.For[types.ID](nil, "ord"); return err }},
		{"empty prefix", `publicid: For: prefix ""`, func() error { _, err := publicid.For[types.ID](c, ""); return err }},
		{"upper case", `publicid: For: prefix "Ord": want a lower-case letter`, func() error { _, err := publicid.For[types.ID](c, "Ord"); return err }},
		{"underscore", `publicid: For: prefix "ord_": want`, func() error { _, err := publicid.For[types.ID](c, "ord_"); return err }},
		{"line after it", `publicid: For: prefix "ord\n": want`, func() error { _, err := publicid.For[types.ID](c, "ord\n"); return err }},
		{"too long", "at most 31", func() error { _, err := publicid.For[types.ID](c, strings.Repeat("a", 33)); return err }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := test.call(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if _, err := publicid.For[types.ID](c, strings.Repeat("a", 32)); err != nil {
		t.Error(err)
	}
}

// A Text in a struct is a JSON string, and Open returns its ID.
func TestTextInJSON(t *testing.T) {
	t.Parallel()
	k := kind[types.Of[order]](t, codec(t, 1), "ord")
	type answer struct {
		ID publicid.Text `json:"id"`
	}
	text, err := json.Marshal(answer{k.Text(42)})
	if want := `{"id":"` + k.Format(42) + `"}`; string(text) != want || err != nil {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	var read answer
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if id, err := k.Open(read.ID); id != 42 || err != nil {
		t.Errorf("Open(%q) = %v, %v, want 42", read.ID, id, err)
	}
}

// Format only allocates its result, and Parse nothing.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	k := kind[types.ID](t, codec(t, 1), "ord")
	text := k.Format(42)
	if n := testing.AllocsPerRun(1000, func() { _ = k.Format(42) }); n > 1 {
		t.Errorf("Format allocates %v times, want at most once", n)
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = k.Parse(text) }); n > 0 {
		t.Errorf("Parse allocates %v times, want none", n)
	}
}

// FuzzParse looks for a text that Parse accepts and Format does not write.
func FuzzParse(f *testing.F) {
	k := kind[types.ID](f, codec(f, 1), "ord")
	f.Add(k.Format(1))
	f.Add(k.Format(math.MaxInt64))
	f.Add("ord_" + strings.Repeat("1", 22))
	f.Fuzz(func(t *testing.T, text string) {
		id, err := k.Parse(text)
		if err == nil && k.Format(id) != text {
			t.Errorf("Parse(%q) = %s, whose text is %q", text, id, k.Format(id))
		}
	})
}

// FuzzFormat checks that Parse returns every ID that Format has written, and that 0 and
// negative numbers have no text.
func FuzzFormat(f *testing.F) {
	k := kind[types.ID](f, codec(f, 1), "ord")
	f.Add(int64(1))
	f.Fuzz(func(t *testing.T, n int64) {
		text := k.Format(types.ID(n))
		if id, err := k.Parse(text); n > 0 && (id != types.ID(n) || err != nil || len(text) != 26) || n <= 0 && text != "" {
			t.Errorf("Format(%d) = %q; Parse of that %d, %v", n, text, id, err)
		}
	})
}

func BenchmarkFormat(b *testing.B) {
	k := kind[types.ID](b, codec(b, 1), "ord")
	b.ReportAllocs()
	for b.Loop() {
		_ = k.Format(2124442649149294496)
	}
}

func BenchmarkParse(b *testing.B) {
	k := kind[types.ID](b, codec(b, 1), "ord")
	text := k.Format(2124442649149294496)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = k.Parse(text)
	}
}
