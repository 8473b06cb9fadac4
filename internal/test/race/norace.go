//go:build !race

// Package race reports whether the race detector is on. Tests use it that count
// allocations, or that take minutes with the race detector.
package race

// Enabled reports whether the program was built with -race.
const Enabled = false
