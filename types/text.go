package types

import "encoding"

var (
	_ encoding.TextAppender    = ID(0)
	_ encoding.TextMarshaler   = ID(0)
	_ encoding.TextUnmarshaler = (*ID)(nil)
)

// AppendText appends the text of [ID.String] to b. The error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	var d decimal
	return append(b, d[d.set(id):]...), nil
}

// MarshalText returns the text of [ID.String]; the error is always nil. It makes
// an ID a string in JSON, also as key of an object, and serves XML, YAML and
// flags.
//
// There is no MarshalJSON on purpose: encoding/json checks and copies what that
// returns, which takes longer than writing the ID.
func (id ID) MarshalText() ([]byte, error) {
	var d decimal
	return d[d.set(id):], nil
}

// UnmarshalText reads b as [ParseID] does. The ID is zero after an error.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = parseDecimal("ID.UnmarshalText", b)
	return err
}

// UnmarshalParam reads s as [ParseID] does. Routers that bind path, query and
// form values to the fields of a struct, such as gin and echo, call it. The ID
// is zero after an error.
func (id *ID) UnmarshalParam(s string) (err error) {
	*id, err = parseDecimal("ID.UnmarshalParam", s)
	return err
}
