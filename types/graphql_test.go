package types_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/types"
)

func TestMarshalGQL(t *testing.T) {
	t.Parallel()
	eachID(func(id types.ID) {
		var text strings.Builder
		id.MarshalGQL(&text)
		var back string
		if err := json.Unmarshal([]byte(text.String()), &back); err != nil || back != id.String() {
			t.Errorf("MarshalGQL of %d writes %s", int64(id), text.String())
		}
	})
}

// gqlgen passes an argument as a string, a json.Number or an integer.
func TestUnmarshalGQL(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"7529595880471527425", json.Number("7529595880471527425"), sample.Int64(), int(sample)} {
		var id types.ID
		if err := id.UnmarshalGQL(value); err != nil || id != sample {
			t.Errorf("%T: got %d, %v", value, int64(id), err)
		}
	}
}

// A float64 is an error because its last digits may be lost, and so is null.
func TestUnmarshalGQLErrors(t *testing.T) {
	t.Parallel()
	const other = ": want a string or an integer"
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, ": cannot read <nil>" + other},
		{5.0, ": cannot read float64" + other},
		{true, ": cannot read bool" + other},
		{[]any{"5"}, ": cannot read []interface {}" + other},
		{-5, `("-5"): unexpected '-' at offset 0: want decimal digits only`},
		{int64(math.MinInt64), `("-9223372036854775808"): unexpected '-' at offset 0: want decimal digits only`},
		{json.Number("5.0"), `("5.0"): unexpected '.' at offset 1: want decimal digits only`},
	} {
		id := sample
		err := id.UnmarshalGQL(test.value)
		checkError(t, id, err, "types: ID.UnmarshalGQL"+test.want)
	}
	for _, test := range badDecimals {
		id := sample
		err := id.UnmarshalGQL(test.in)
		checkError(t, id, err, "types: ID.UnmarshalGQL"+test.want)
	}
}
