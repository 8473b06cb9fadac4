//go:build !(gc && linux && amd64 && !purego)

package tsc

// Read returns zero: there is no counter, or none that is faster to read than
// the clock.
func Read() uint64 { return 0 }

// Invariant returns false.
func Invariant() bool { return false }
