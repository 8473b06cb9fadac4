package types

import "encoding"

var (
	_ encoding.BinaryAppender    = ID(0)
	_ encoding.BinaryMarshaler   = ID(0)
	_ encoding.BinaryUnmarshaler = (*ID)(nil)
)

// AppendBinary appends the text of [ID.String] to b. The error is always nil.
func (id ID) AppendBinary(b []byte) ([]byte, error) { return id.AppendText(b) }

// MarshalBinary returns the text of [ID.String]; the error is always nil. Clients
// of Redis call it for keys, values and members, which thereby are those of an
// int64, and so does encoding/gob. A gob stream in which the field was an int64 is
// one of another type and does not decode into an ID: decode it into an int64.
func (id ID) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary reads decimal text, with a minus sign and leading zeros too, for
// what is stored must stay readable. The ID is zero after an error.
func (id *ID) UnmarshalBinary(b []byte) (err error) {
	*id, err = parseStored("ID.UnmarshalBinary", b)
	return err
}
