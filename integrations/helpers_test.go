package integrations_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

// sample has more digits than a float64 holds, and text is its decimal form.
const (
	sample types.ID = 7529595880471527425
	text            = "7529595880471527425"
)

// order is the struct that the tests encode, with a key, and a key that may be absent.
type order struct {
	ID     types.ID  `bson:"_id" cbor:"id" json:"id" msgpack:"id" toml:"id" xml:"id,attr" yaml:"id"`
	Parent *types.ID `bson:"parent" cbor:"parent" json:"parent" msgpack:"parent" toml:"parent" xml:"parent" yaml:"parent"`
}

// newOrder returns an order with a parent.
func newOrder() order {
	parent := sample - 1
	return order{ID: sample, Parent: &parent}
}

// equal reports whether the orders have equal keys, and equal parents or none.
func (o order) equal(other order) bool {
	if o.Parent == nil || other.Parent == nil {
		return o.ID == other.ID && o.Parent == other.Parent
	}
	return o.ID == other.ID && *o.Parent == *other.Parent
}

// codec contains the functions of an encoding.
type codec struct {
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
}

// roundTrips checks that an order with a parent and an order without a parent survive. It
// returns the text of the first order.
func (c codec) roundTrips(t *testing.T) string {
	t.Helper()
	var first string
	for _, o := range []order{newOrder(), {ID: sample}} {
		encoded, err := c.marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var back order
		if err := c.unmarshal(encoded, &back); err != nil || !back.equal(o) {
			t.Errorf("%s is read as %+v, %v; want %+v", encoded, back, err, o)
		}
		if first == "" {
			first = string(encoded)
		}
	}
	return first
}

// wantText fails the test unless the texts are equal.
func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// wantError checks that there is an error that contains all parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q; want an error with %q", err, part)
		}
	}
}

// must returns a function that returns value, or ends the test if there is an error. A test
// calls must(f())(t), because Go does not allow another argument beside the results of f.
// If f returns only an error, the call is must(0, f())(t).
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
