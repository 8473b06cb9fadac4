//go:build gc

package stopwatch

// now reads the processor's time stamp counter, after earlier instructions have ended and
// before later instructions begin. It is written in assembly.
func now() uint64
