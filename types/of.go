package types

import (
	"database/sql/driver"
	"io"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// An Of is an [ID] of rows of one type, so that the compiler distinguishes the keys of
// two tables:
//
//	type OrderID = types.Of[Order]
//
// T is only a name, and may be any type. An Of has the methods of an ID, and with them
// its forms as text, in JSON and in a database, its column, and its protection against
// rows without a key. Each method calls the method of ID.
//
// An Of converts to and from an ID and an int64: OrderID(id), types.ID(orderID).
// [ParseID] reads its text. Use a pointer to it for a column that can be NULL.
type Of[T any] int64

// Int64 returns the ID as a number, as [ID.Int64] does.
func (id Of[T]) Int64() int64 { return int64(id) }

// IsZero reports whether the ID is not assigned yet, as [ID.IsZero] does.
func (id Of[T]) IsZero() bool { return id == 0 }

// Compare compares two IDs of one type, as [ID.Compare] does. It returns -1, 0 or +1.
func (id Of[T]) Compare(other Of[T]) int { return ID(id).Compare(ID(other)) }

// String returns the ID in decimal, as [ID.String] does.
func (id Of[T]) String() string { return ID(id).String() }

// Base32 returns the ID in Crockford's base 32, as [ID.Base32] does. [ParseBase32] reads it.
func (id Of[T]) Base32() string { return ID(id).Base32() }

// Base58 returns the ID in base 58, as [ID.Base58] does. [ParseBase58] reads it.
func (id Of[T]) Base58() string { return ID(id).Base58() }

// Base62 returns the ID in base 62, as [ID.Base62] does. [ParseBase62] reads it.
func (id Of[T]) Base62() string { return ID(id).Base62() }

// AppendText appends the text of [ID.String] to b. The error is always nil.
func (id Of[T]) AppendText(b []byte) ([]byte, error) { return ID(id).AppendText(b) }

// MarshalText returns the text of [ID.String], which is a string in JSON. The error is always
// nil.
func (id Of[T]) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText reads decimal digits, as [ParseID] does. The ID is zero after an error.
func (id *Of[T]) UnmarshalText(b []byte) error { return (*ID)(id).UnmarshalText(b) }

// UnmarshalParam reads a path, query or form value for routers such as gin and echo, as
// [ID.UnmarshalParam] does.
func (id *Of[T]) UnmarshalParam(s string) error { return (*ID)(id).UnmarshalParam(s) }

// UnmarshalJSON reads a string or a number, as [ID.UnmarshalJSON] does.
func (id *Of[T]) UnmarshalJSON(b []byte) error { return (*ID)(id).UnmarshalJSON(b) }

// AppendBinary appends the text of [ID.String] to b, as [ID.AppendBinary] does. The error is
// always nil.
func (id Of[T]) AppendBinary(b []byte) ([]byte, error) { return ID(id).AppendBinary(b) }

// MarshalBinary returns the text of [ID.String] for clients of Redis and for encoding/gob, as
// [ID.MarshalBinary] does. The error is always nil.
func (id Of[T]) MarshalBinary() ([]byte, error) { return ID(id).MarshalBinary() }

// UnmarshalBinary reads the text that MarshalBinary returns, as [ID.UnmarshalBinary] does.
func (id *Of[T]) UnmarshalBinary(b []byte) error { return (*ID)(id).UnmarshalBinary(b) }

// MarshalCBOR returns the ID as a CBOR integer, as [ID.MarshalCBOR] does. The error is always
// nil.
func (id Of[T]) MarshalCBOR() ([]byte, error) { return ID(id).MarshalCBOR() }

// UnmarshalCBOR reads a CBOR integer or string, as [ID.UnmarshalCBOR] does.
func (id *Of[T]) UnmarshalCBOR(b []byte) error { return (*ID)(id).UnmarshalCBOR(b) }

// MarshalGQL writes the ID as a string to w, for gqlgen, as [ID.MarshalGQL] does.
func (id Of[T]) MarshalGQL(w io.Writer) { ID(id).MarshalGQL(w) }

// UnmarshalGQL reads an argument from gqlgen, as [ID.UnmarshalGQL] does.
func (id *Of[T]) UnmarshalGQL(v any) error { return (*ID)(id).UnmarshalGQL(v) }

// Scan reads an ID from a row of a database, as [ID.Scan] does.
func (id *Of[T]) Scan(src any) error { return (*ID)(id).Scan(src) }

// Value returns the ID as an int64 for a database, as [ID.Value] does. The error is always
// nil.
func (id Of[T]) Value() (driver.Value, error) { return ID(id).Value() }

// GormDataType returns the data type of the field in GORM's schema, "bigint", as
// [ID.GormDataType] does.
func (id Of[T]) GormDataType() string { return ID(id).GormDataType() }

// GormDBDataType returns the type of the column that GORM's migrator creates, as
// [ID.GormDBDataType] does.
func (id Of[T]) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	return ID(id).GormDBDataType(db, field)
}

// CreateClauses makes GORM return an error instead of inserting a row without a key, as
// [ID.CreateClauses] does.
func (id Of[T]) CreateClauses(field *schema.Field) []clause.Interface {
	return ID(id).CreateClauses(field)
}
