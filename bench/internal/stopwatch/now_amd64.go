//go:build gc

package stopwatch

// now reads the time stamp counter, after what was begun before and before what
// comes after it.
func now() uint64
