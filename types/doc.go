// Package types holds [ID], a 64-bit primary key that is safe to send to
// JavaScript.
//
// Compared with a plain int64, an ID is written to JSON as a string. JavaScript
// keeps every number as a float64 and so has 53 bits for an integer: it reads
// 7529595880471527425 as 7529595880471527000, and the row that a browser then
// asks for does not exist. Reading is as strict: no text, JSON value or row is
// taken for an ID that it does not exactly name. And GORM adds no
// auto-increment to a key of type ID, as it does to an int64.
//
// Compared with a UUID, an ID is half the size, in memory and in every index of
// the database, is a bigint to all tools, is written in 19 digits instead of 36
// characters, and sorts by the time it was made. A UUID needs no worker number
// in exchange; where that matters more than size and order, use one.
//
// The zero ID means "not assigned yet" and belongs to no row.
//
// # One text for each ID
//
// An ID reaches a program from three sides, and each has its own rule:
//
//   - Text from outside ([ParseID], [ID.UnmarshalText], [ID.UnmarshalJSON],
//     [ID.UnmarshalParam], [ID.UnmarshalGQL]): decimal digits only, without sign, blank or leading
//     zero, at most 9223372036854775807. Two different texts are never the same
//     ID, so texts can be compared, and used as keys of caches and JSON objects.
//   - What is stored ([ID.Scan], [ID.UnmarshalBinary], integers in
//     [ID.UnmarshalCBOR]): whatever integer is there, negative ones too, for old data
//     must stay readable.
//   - The program itself: any int64 converts.
//
// Every ID can be written. A negative one, which no generator makes, is written
// with a minus sign in every form, and no parser takes it back from outside.
//
// # Typed IDs
//
// [Of] is an ID of the rows of one type. With
//
//	type OrderID = types.Of[Order]
//	type CustomerID = types.Of[Customer]
//
// the compiler refuses one where the other is wanted. In all that leaves the
// program an Of is an ID.
//
// # pgx
//
// An ID is a bigint and an []ID a bigint[] to pgx itself as well, in parameters,
// results and CopyFrom, and nothing needs to be registered. Only its modes that
// prepare no statement, QueryExecModeExec and QueryExecModeSimpleProtocol, take
// no slice of a named integer, and so no []ID; [IDs] works in all modes.
//
// In a jsonb parameter, an ID alone is a number, because pgx asks for its Value
// first; within a struct, map or slice it is a string. Both are read.
//
// # Other formats
//
// Most encoders find a method of the standard library, and write the decimal text.
// Clients of Redis and encoding/gob call [ID.MarshalBinary], CBOR's encoders
// [ID.MarshalCBOR], which writes an integer, and gqlgen [ID.MarshalGQL].
package types
