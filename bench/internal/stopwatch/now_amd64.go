//go:build gc

package stopwatch

// now reads the time stamp counter, after earlier instructions have ended and before
// later instructions begin.
func now() uint64
