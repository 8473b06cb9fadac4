package types

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Major types of CBOR (RFC 8949, section 3.1) in which an ID can be encoded. The major type
// is in the top three bits of the first byte of a data item.
const (
	cborUnsigned = iota
	cborNegative
	cborBytes
	cborText
)

// The data items null and undefined.
const (
	cborNull      = "\xf6"
	cborUndefined = "\xf7"
)

// MarshalCBOR returns the ID as a CBOR integer, in its shortest form. CBOR has
// integers of 64 bits, which decoders in JavaScript return as a BigInt. The error is
// always nil. In github.com/fxamacker/cbor, the option that leaves out an ID of 0 is
// omitzero; omitempty writes it.
func (id ID) MarshalCBOR() ([]byte, error) {
	major, n := byte(cborUnsigned), uint64(id)
	if id < 0 {
		major, n = cborNegative, ^n // CBOR writes a negative integer as -1-id, which is ^id
	}

	// The low five bits of the first byte are the number itself if it is below 24. Otherwise
	// 24, 25, 26 and 27 mean that the number follows in 1, 2, 4 or 8 bytes.
	b := append(make([]byte, 0, 9), major<<5)
	switch {
	case n < 24:
		b[0] |= byte(n)
		return b, nil
	case n <= math.MaxUint8:
		b[0] |= 24
		return append(b, byte(n)), nil
	case n <= math.MaxUint16:
		b[0] |= 25
		return binary.BigEndian.AppendUint16(b, uint16(n)), nil
	case n <= math.MaxUint32:
		b[0] |= 26
		return binary.BigEndian.AppendUint32(b, uint32(n)), nil
	}
	b[0] |= 27
	return binary.BigEndian.AppendUint64(b, n), nil
}

// UnmarshalCBOR reads an integer, which may be negative, or a string of text or bytes
// in the form that [ParseID] reads. Any other data item is an error, including a tag,
// and a string in chunks. As in JSON, null and undefined do not change the ID. The ID
// is zero after an error.
func (id *ID) UnmarshalCBOR(b []byte) (err error) {
	if s := string(b); s == cborNull || s == cborUndefined {
		return nil
	}
	*id, err = parseCBOR("ID.UnmarshalCBOR", b)
	return err
}

// parseCBOR parses a data item that is an integer, or decimal digits in a string of text or
// bytes. fn is the name of the calling function, for errors.
func parseCBOR(fn string, b []byte) (ID, error) {
	major, n, content, ok := cborHead(b)
	switch integer := ok && n <= math.MaxInt64 && len(content) == 0; {
	case integer && major == cborUnsigned:
		return ID(n), nil
	case integer && major == cborNegative:
		return ID(^n), nil // CBOR writes a negative integer as n = -1-id
	case ok && (major == cborBytes || major == cborText) && n == uint64(len(content)):
		return parseDecimal(fn, content)
	}
	return 0, &parseError{fn, string(b), "want an integer of 64 bits or its decimal text"}
}

// cborHead splits a data item into its head and its content. The head has the major type
// and a number n, which is the value of an integer or the length of a string. The low five
// bits of the first byte are n if they are below 24. Otherwise 24 to 27 mean that n follows,
// in 1, 2, 4 or 8 bytes. ok is false if the head is cut off or has no number.
func cborHead(b []byte) (major byte, n uint64, content []byte, ok bool) {
	if len(b) == 0 {
		return 0, 0, nil, false
	}
	major, info := b[0]>>5, b[0]&31
	if info < 24 {
		return major, uint64(info), b[1:], true
	}
	size := 1 << (info - 24) // bytes of n
	if info > 27 || len(b) < 1+size {
		return 0, 0, nil, false
	}
	for _, c := range b[1 : 1+size] {
		n = n<<8 | uint64(c)
	}
	return major, n, b[1+size:], true
}

// MarshalGQL writes the ID as a string to w, for gqlgen. It cannot return an error,
// which does not matter because gqlgen writes to memory.
func (id ID) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, `"`+id.String()+`"`)
}

// UnmarshalGQL reads an argument from gqlgen: a string in the form that [ParseID]
// reads, or an integer that is not negative. Any other value is an error, including a
// float64, whose last digits may already be lost, and null. An optional argument is a
// *ID. The ID is zero after an error.
func (id *ID) UnmarshalGQL(v any) (err error) {
	const fn = "ID.UnmarshalGQL"
	*id = 0
	switch v := v.(type) {
	case string:
		*id, err = parseDecimal(fn, v)
	case json.Number:
		*id, err = parseDecimal(fn, string(v))
	case int, int64:
		*id, err = parseDecimal(fn, fmt.Sprint(v)) // which rejects a minus sign
	default:
		err = fmt.Errorf("types: ID.UnmarshalGQL: cannot read %T: want a string or an integer", v)
	}
	return err
}

var (
	_ encoding.BinaryAppender    = ID(0)
	_ encoding.BinaryMarshaler   = ID(0)
	_ encoding.BinaryUnmarshaler = (*ID)(nil)
)

// AppendBinary appends the result of [ID.MarshalBinary], which is decimal text, to b. The error
// is always nil.
func (id ID) AppendBinary(b []byte) ([]byte, error) { return id.AppendText(b) }

// MarshalBinary returns the text of [ID.String]; the error is always nil. Clients of
// Redis call it for keys, values and members, which are then the same as for an int64.
// encoding/gob calls it too. A gob stream in which the field was an int64 has another
// type and does not decode into an ID, so decode it into an int64.
func (id ID) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary reads decimal text, which may have a minus sign and leading zeros,
// because stored data must stay readable. The ID is zero after an error.
func (id *ID) UnmarshalBinary(b []byte) (err error) {
	*id, err = parseStored("ID.UnmarshalBinary", b)
	return err
}
