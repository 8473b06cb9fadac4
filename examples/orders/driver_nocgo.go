//go:build !cgo

package main

import _ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

// driver is the name of the SQLite driver. The driver "sqlite" is SQLite in Go, which the
// example uses if there is no C compiler.
const driver = "sqlite"

// settings are the parameters of the file name in the form of this driver. They make
// connections wait for each other's transactions instead of failing.
const settings = "?_pragma=busy_timeout(5000)&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)"
