//go:build cgo

package main

// driver is the name of the SQLite driver. GORM's SQLite dialect imports the driver "sqlite3",
// which needs a C compiler. The example uses it if there is one, because to import the other
// driver too would compile SQLite a second time.
const driver = "sqlite3"

// settings are the parameters of the file name in the form of this driver. They make
// connections wait for each other's transactions instead of failing.
const settings = "?_busy_timeout=5000&_txlock=immediate&_journal_mode=WAL&_foreign_keys=1"
