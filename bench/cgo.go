//go:build cgo

package main

// cgo says that SQLite's C driver, which needs it, is there.
const cgo = true
