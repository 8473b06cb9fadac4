// Package types holds [ID], a 64-bit primary key that is safe to send to
// JavaScript.
//
// Unlike a plain int64, an ID is written to JSON as a string. JavaScript keeps every
// number as a float64, which has 53 bits for an integer. It reads 7529595880471527425
// as 7529595880471527000, and the row that a browser then asks for does not exist.
// Reading is strict too. A text, a JSON value or a column's value that is not exactly one
// ID is an error. GORM makes a key of type int64 auto-increment, but not a key of type ID.
//
// Compared with a UUID, an ID is half the size, in memory and in every index of the
// database. It is a bigint to all tools, has 19 digits instead of 36 characters, and
// sorts by the time it was made. A UUID needs no worker number. If that matters more
// than size and order, use a UUID.
//
// The zero ID means "not assigned yet" and belongs to no row.
//
// # One text for each ID
//
// An ID reaches a program in three ways, and each has its own rule:
//
//   - Text from outside ([ParseID], [ID.UnmarshalText], [ID.UnmarshalJSON],
//     [ID.UnmarshalParam], [ID.UnmarshalGQL]) is decimal digits only, without sign, blank
//     or leading zero, at most 9223372036854775807. Two different texts are never the same
//     ID, so texts can be compared, and used as keys of caches and JSON objects.
//   - Stored values ([ID.Scan], [ID.UnmarshalBinary], integers in
//     [ID.UnmarshalCBOR]) may be any integer, including negative integers, because old data
//     must stay readable.
//   - In the program itself, any int64 converts.
//
// Every ID can be written. A negative ID, which a generator never makes, is written
// with a minus sign in every form. No parser accepts it from outside.
//
// # Typed IDs
//
// [Of] is an ID of the rows of one type. With
//
//	type OrderID = types.Of[Order]
//	type CustomerID = types.Of[Customer]
//
// the compiler refuses an OrderID if a CustomerID is wanted. Outside the program an Of
// is an ID.
//
// # pgx
//
// An ID is a bigint and an []ID a bigint[] to pgx itself as well, in parameters,
// results and CopyFrom, without registration. The modes QueryExecModeExec and
// QueryExecModeSimpleProtocol, which do not prepare statements, do not accept a slice
// of a named integer, and so no []ID. [IDs] works in all modes.
//
// In a jsonb parameter, an ID alone is a number, because pgx calls its Value first.
// Within a struct, map or slice it is a string. Both can be read.
//
// # Other formats
//
// Most encoders find a method of the standard library, and write the decimal text.
// Clients of Redis and encoding/gob call [ID.MarshalBinary]. CBOR's encoders call
// [ID.MarshalCBOR], which writes an integer, and gqlgen calls [ID.MarshalGQL].
package types
