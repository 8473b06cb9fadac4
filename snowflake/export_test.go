package snowflake

import (
	"time"
	"unsafe"
)

// WithReadings replaces the wall clock and the monotonic clock by the function read, which
// returns both. The generator then compares them at every call.
func WithReadings(read func() (wall time.Time, elapsed time.Duration)) Option {
	return optionFunc(func(c *config) error {
		c.read = read
		return nil
	})
}

// Skew adds an error to the machine's wall clock. The generator must not be in use yet.
func Skew(g *Generator, skew func() time.Duration) { g.clock.Skewed = skew }

// Compare sets for how long the generator trusts a comparison of its clocks, in place of a
// second. The generator must not be in use yet.
func Compare(g *Generator, every time.Duration) { g.clock.Uncompared = every }

// Lines returns addresses of fields that Next uses, to show that they share two cache
// lines: the state and the last field that Next needs after it, and the clock's base and
// the last byte that Next needs after it.
func Lines(g *Generator) (state, besideState, base, besideBase uintptr) {
	return uintptr(unsafe.Pointer(&g.state)), uintptr(unsafe.Pointer(&g.startBits)),
		uintptr(unsafe.Pointer(&g.clock)), uintptr(unsafe.Pointer(&g.clock.Start)) + unsafe.Sizeof(g.clock.Start) - 1
}

// SetSecret replaces the random secret of the generator, so that a tick starts at the same
// sequence number in every run. The generator must not be in use yet.
func SetSecret(g *Generator, secret uint64) { g.secret = secret }
