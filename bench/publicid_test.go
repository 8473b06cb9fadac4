package bench_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/speps/go-hashids/v2"
	"github.com/sqids/sqids-go"
	"go.jetify.com/typeid"

	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

// BenchmarkPublicID measures how fast public IDs are formatted and parsed, in windows of
// 100 calls. publicid, Sqids and hashids convert a key. For the other forms the public
// value is the key itself.
func BenchmarkPublicID(b *testing.B) {
	all := []textForm{sealed(b), sqid(b), hashid(b), typeID(b), uuidv4()}
	b.Run("format", func(b *testing.B) {
		var windows []window
		for _, f := range all {
			windows = append(windows, callWindow(b, f.name, func() error { _, err := f.format(); return err }))
		}
		interleave(b, 400, lowQuartile, windows)
	})
	b.Run("parse", func(b *testing.B) {
		var windows []window
		for _, f := range all {
			text, err := f.format()
			if err != nil {
				b.Fatal(err)
			}
			windows = append(windows, callWindow(b, f.name, func() error { return f.parse(text) }))
		}
		interleave(b, 400, lowQuartile, windows)
	})
}

// TestPublicIDs checks that each form has the number of characters in docs/compared.md, and
// can be parsed again.
func TestPublicIDs(t *testing.T) {
	t.Parallel()
	want := map[string]int{"publicid": 26, "sqids": 12, "hashids": 13, "typeid": 30, "uuid": 36}
	for _, f := range []textForm{sealed(t), sqid(t), hashid(t), typeID(t), uuidv4()} {
		text, err := f.format()
		if err != nil || len(text) != want[f.name] || f.parse(text) != nil {
			t.Errorf("%s: %q, %v: got %d characters, want %d, and %v to be nil", f.name, text, err, len(text), want[f.name], f.parse(text))
		}
	}
}

// textForm is a way to write an ID for the public.
type textForm struct {
	name   string
	format func() (string, error)
	parse  func(string) error
}

// publicSample has 19 digits, as IDs have.
const publicSample = 2124442649149294496

// errOther is the error of a text that is parsed as another ID.
var errOther = errors.New("another ID")

// check returns err, or an error if the value that was parsed is not the expected one.
func check[T comparable](got, want T, err error) error {
	if err == nil && got != want {
		err = errOther
	}
	return err
}

// sealed returns the form of package publicid, which encrypts the key.
func sealed(tb testing.TB) textForm {
	tb.Helper()
	codec, err := publicid.New(bytes.Repeat([]byte{1}, publicid.SecretSize))
	fatal(tb, err)
	kind, err := publicid.For[types.ID](codec, "ord")
	fatal(tb, err)
	return textForm{"publicid", func() (string, error) { return kind.Format(publicSample), nil }, func(s string) error {
		id, err := kind.Parse(s)
		return check(id, publicSample, err)
	}}
}

// sqid returns the form of Sqids, which shuffles the digits of the key.
func sqid(tb testing.TB) textForm {
	tb.Helper()
	s, err := sqids.New()
	fatal(tb, err)
	return textForm{"sqids", func() (string, error) { return s.Encode([]uint64{publicSample}) }, func(text string) error {
		return check(s.Decode(text)[0], publicSample, nil)
	}}
}

// hashid returns the form of hashids, which shuffles the digits of the key by a salt.
func hashid(tb testing.TB) textForm {
	tb.Helper()
	data := hashids.NewData()
	data.Salt = "a salt"
	h, err := hashids.NewWithData(data)
	fatal(tb, err)
	return textForm{"hashids", func() (string, error) { return h.EncodeInt64([]int64{publicSample}) }, func(text string) error {
		ids, err := h.DecodeInt64WithError(text)
		if err != nil {
			return err
		}
		return check(ids[0], publicSample, nil)
	}}
}

// typeID returns the form of TypeID, a UUID of version 7 after a prefix.
func typeID(tb testing.TB) textForm {
	tb.Helper()
	id, err := typeid.WithPrefix("ord")
	fatal(tb, err)
	return textForm{"typeid", func() (string, error) { return id.String(), nil }, func(text string) error {
		got, err := typeid.FromString(text)
		return check(got, id, err)
	}}
}

// uuidv4 returns the form of a random UUID.
func uuidv4() textForm {
	id := uuid.New()
	return textForm{"uuid", func() (string, error) { return id.String(), nil }, func(text string) error {
		got, err := uuid.Parse(text)
		return check(got, id, err)
	}}
}

// fatal ends the test or benchmark if there is an error.
func fatal(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// TestTypeIDShowsTime checks that a TypeID shows when it was created.
func TestTypeIDShowsTime(t *testing.T) {
	t.Parallel()
	id, err := typeid.WithPrefix("ord")
	fatal(t, err)
	raw := id.UUIDBytes()
	// The first 48 bits are milliseconds since 1970.
	age := time.Since(time.UnixMilli(int64(binary.BigEndian.Uint64(raw[:8]) >> 16)))
	if age < 0 || age > time.Minute {
		t.Errorf("the time of a TypeID is %v ago, want less than a minute", age)
	}
}
