package types_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// MarshalBinary and AppendBinary write the decimal text of every ID, also of a negative
// one, and UnmarshalBinary reads it as the same ID.
func TestBinaryRoundTrip(t *testing.T) {
	t.Parallel()
	eachID(func(id types.ID) {
		b, err := id.MarshalBinary()
		appended, appendErr := id.AppendBinary([]byte("id="))
		if errors.Join(err, appendErr) != nil || string(b) != id.String() || string(appended) != "id="+id.String() {
			t.Errorf("MarshalBinary of %d = %q, AppendBinary %q, %v, %v", int64(id), b, appended, err, appendErr)
		}
		back := types.ID(99)
		if err := back.UnmarshalBinary(b); err != nil || back != id {
			t.Errorf("UnmarshalBinary(%q) = %d, %v", b, int64(back), err)
		}
	})
}

// A stored value that is not one integer is an error.
func TestUnmarshalBinaryErrors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                     `(""): want a decimal integer`,
		"+5":                   `("+5"): want a decimal integer`,
		`"5"`:                  `("\"5\""): want a decimal integer`,
		"5.0":                  `("5.0"): want a decimal integer`,
		"9223372036854775808":  `("9223372036854775808"): out of range of int64`,
		"-9223372036854775809": `("-9223372036854775809"): out of range of int64`,
	} {
		id := sample
		err := id.UnmarshalBinary([]byte(in))
		checkError(t, id, err, "types: ID.UnmarshalBinary"+want)
	}
}

// gob copies IDs in every place in which a struct can have one.
func TestGob(t *testing.T) {
	t.Parallel()
	type order struct {
		ID     types.ID
		Typed  ticketID
		Parent *types.ID
		Lines  []types.ID
		Notes  map[types.ID]string
	}
	for _, id := range []types.ID{0, sample, -5} {
		want := order{id, ticketID(id), &id, []types.ID{id, 1}, map[types.ID]string{id: "a"}}
		var got order
		if err := gobCopy(want, &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != id || got.Typed != want.Typed || got.Parent == nil || *got.Parent != id ||
			len(got.Lines) != 2 || got.Lines[0] != id || got.Notes[id] != "a" {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// gobCopy encodes from and decodes it into to.
func gobCopy(from, to any) error {
	var stream bytes.Buffer
	if err := gob.NewEncoder(&stream).Encode(from); err != nil {
		return err
	}
	return gob.NewDecoder(&stream).Decode(to)
}

// A gob stream contains the types of its fields. To gob an int64 is not an ID, so a stream
// that was written before a field became an ID must be decoded into an int64.
func TestGobOfInt64IsReadAsInt64(t *testing.T) {
	t.Parallel()
	type (
		order    struct{ ID types.ID }
		oldOrder struct{ ID int64 }
	)
	old := oldOrder{sample.Int64()}
	if err := gobCopy(old, &order{}); err == nil || !strings.Contains(err.Error(), "wrong type") {
		t.Errorf("err = %v", err)
	}
	var back oldOrder
	if err := gobCopy(old, &back); err != nil || types.ID(back.ID) != sample {
		t.Errorf("got %+v, %v", back, err)
	}
}
