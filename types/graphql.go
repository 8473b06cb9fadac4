package types

import (
	"encoding/json"
	"fmt"
	"io"
)

// MarshalGQL writes the ID as a string to w, for gqlgen. Its signature has no
// error: gqlgen writes to memory.
func (id ID) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, `"`+id.String()+`"`)
}

// UnmarshalGQL reads what gqlgen makes of an argument: a string in the form that
// [ParseID] takes, or an integer that is not negative. All else is an error, also a
// float64, whose last digits may be lost already, and null: an optional argument is
// a *ID. The ID is zero after an error.
func (id *ID) UnmarshalGQL(v any) (err error) {
	const fn = "ID.UnmarshalGQL"
	*id = 0
	switch v := v.(type) {
	case string:
		*id, err = parseDecimal(fn, v)
	case json.Number:
		*id, err = parseDecimal(fn, string(v))
	case int, int64:
		*id, err = parseDecimal(fn, fmt.Sprint(v))
	default:
		err = fmt.Errorf("types: ID.UnmarshalGQL: cannot read %T: want a string or an integer", v)
	}
	return err
}
