//go:build !cgo

package main

import _ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

// driver is SQLite in Go, which is compiled if there is no C compiler.
const driver = "sqlite"

// settings make connections wait for each other's transactions instead of failing.
const settings = "?_pragma=busy_timeout(5000)&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)"
