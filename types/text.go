package types

import "encoding"

// ParseID reads s as a decimal number between 0 and 9223372036854775807. It accepts
// digits only. A sign, a blank, an underscore, a leading zero or the empty string is an
// error, which quotes s. The ID is zero if the error is not nil.
func ParseID(s string) (ID, error) {
	return parseDecimal("ParseID", s)
}

// MustParseID returns the ID that [ParseID] reads from s, and panics if s is not an ID. Use it
// for constants in programs and tests.
func MustParseID(s string) ID {
	id, err := ParseID(s)
	if err != nil {
		panic(err) //nolint:forbidigo // what Must promises
	}
	return id
}

// String returns the ID in decimal, as [ParseID] reads it. A negative ID
// starts with a minus sign, which ParseID refuses.
func (id ID) String() string {
	var d decimal
	return string(d[d.setID(id):]) // setID returns where the text begins
}

var (
	_ encoding.TextAppender    = ID(0)
	_ encoding.TextMarshaler   = ID(0)
	_ encoding.TextUnmarshaler = (*ID)(nil)
)

// AppendText appends the text of [ID.String] to b. The error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	var d decimal
	return append(b, d[d.setID(id):]...), nil // setID returns where the text begins
}

// MarshalText returns the text of [ID.String]; the error is always nil. It makes an ID
// a string in JSON, also as key of an object. XML, YAML and flags use it too.
//
// There is intentionally no MarshalJSON, because encoding/json checks and copies its
// result, which takes longer than writing the ID.
func (id ID) MarshalText() ([]byte, error) {
	var d decimal
	return d[d.setID(id):], nil // setID returns where the text begins
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
