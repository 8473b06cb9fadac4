//go:build !cgo

package testdb

// cgoEnabled reports whether the driver of [SQLiteMattn] can be used.
const cgoEnabled = false
