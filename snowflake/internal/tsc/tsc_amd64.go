//go:build gc && linux && !purego && !faketime

package tsc

// Read returns the counter. Of two readings on different processors the later
// one may be the lower.
func Read() uint64

// Invariant reports whether the counter runs at one rate for ever: also while
// the processor is idle or saves power. See the "Intel 64 and IA-32
// Architectures Software Developer's Manual", volume 3, "Invariant TSC".
func Invariant() bool
