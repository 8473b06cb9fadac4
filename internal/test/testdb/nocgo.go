//go:build !cgo

package testdb

const cgoEnabled = false
