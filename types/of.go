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
// rows without a key. Each method is that of ID.
//
// An Of converts to and from an ID and an int64: OrderID(id), types.ID(orderID).
// [ParseID] reads its text. Use a pointer to it for a column that can be NULL.
type Of[T any] int64

// Int64 is [ID.Int64].
func (id Of[T]) Int64() int64 { return int64(id) }

// IsZero is [ID.IsZero].
func (id Of[T]) IsZero() bool { return id == 0 }

// Compare is [ID.Compare], for two IDs of one type.
func (id Of[T]) Compare(other Of[T]) int { return ID(id).Compare(ID(other)) }

// String is [ID.String].
func (id Of[T]) String() string { return ID(id).String() }

// Base32 is [ID.Base32].
func (id Of[T]) Base32() string { return ID(id).Base32() }

// Base58 is [ID.Base58].
func (id Of[T]) Base58() string { return ID(id).Base58() }

// Base62 is [ID.Base62].
func (id Of[T]) Base62() string { return ID(id).Base62() }

// AppendText is [ID.AppendText].
func (id Of[T]) AppendText(b []byte) ([]byte, error) { return ID(id).AppendText(b) }

// MarshalText is [ID.MarshalText].
func (id Of[T]) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText is [ID.UnmarshalText].
func (id *Of[T]) UnmarshalText(b []byte) error { return (*ID)(id).UnmarshalText(b) }

// UnmarshalParam is [ID.UnmarshalParam].
func (id *Of[T]) UnmarshalParam(s string) error { return (*ID)(id).UnmarshalParam(s) }

// UnmarshalJSON is [ID.UnmarshalJSON].
func (id *Of[T]) UnmarshalJSON(b []byte) error { return (*ID)(id).UnmarshalJSON(b) }

// AppendBinary is [ID.AppendBinary].
func (id Of[T]) AppendBinary(b []byte) ([]byte, error) { return ID(id).AppendBinary(b) }

// MarshalBinary is [ID.MarshalBinary].
func (id Of[T]) MarshalBinary() ([]byte, error) { return ID(id).MarshalBinary() }

// UnmarshalBinary is [ID.UnmarshalBinary].
func (id *Of[T]) UnmarshalBinary(b []byte) error { return (*ID)(id).UnmarshalBinary(b) }

// MarshalCBOR is [ID.MarshalCBOR].
func (id Of[T]) MarshalCBOR() ([]byte, error) { return ID(id).MarshalCBOR() }

// UnmarshalCBOR is [ID.UnmarshalCBOR].
func (id *Of[T]) UnmarshalCBOR(b []byte) error { return (*ID)(id).UnmarshalCBOR(b) }

// MarshalGQL is [ID.MarshalGQL].
func (id Of[T]) MarshalGQL(w io.Writer) { ID(id).MarshalGQL(w) }

// UnmarshalGQL is [ID.UnmarshalGQL].
func (id *Of[T]) UnmarshalGQL(v any) error { return (*ID)(id).UnmarshalGQL(v) }

// Scan is [ID.Scan].
func (id *Of[T]) Scan(src any) error { return (*ID)(id).Scan(src) }

// Value is [ID.Value].
func (id Of[T]) Value() (driver.Value, error) { return ID(id).Value() }

// GormDataType is [ID.GormDataType].
func (id Of[T]) GormDataType() string { return ID(id).GormDataType() }

// GormDBDataType is [ID.GormDBDataType].
func (id Of[T]) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	return ID(id).GormDBDataType(db, field)
}

// CreateClauses is [ID.CreateClauses].
func (id Of[T]) CreateClauses(field *schema.Field) []clause.Interface {
	return ID(id).CreateClauses(field)
}
