//go:build cgo

package testdb

const cgoEnabled = true
