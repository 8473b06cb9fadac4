//go:build cgo

package main

// driver is "sqlite3", which GORM's SQLite dialect imports and a C compiler builds.
// Importing the other driver too would compile SQLite a second time.
const driver = "sqlite3"

// settings make connections wait for each other's transactions instead of failing.
const settings = "?_busy_timeout=5000&_txlock=immediate&_journal_mode=WAL&_foreign_keys=1"
