//go:build race

// Package race reports whether the race detector is on. Tests that count
// allocations, or that take minutes under it, ask.
package race

// Enabled reports whether the program was built with -race.
const Enabled = true
