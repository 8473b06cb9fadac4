//go:build gc

package stopwatch

// now returns the processor's time stamp counter. It reads the counter after earlier
// instructions have ended and before later instructions begin. It is written in assembly.
func now() uint64
