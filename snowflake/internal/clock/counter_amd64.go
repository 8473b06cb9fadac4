//go:build gc && linux && !purego && !faketime

package clock

// Count returns the processor's time stamp counter. Of two readings on different
// processors the later one may be the lower.
func Count() uint64

// invariant reports whether the counter always runs at one rate, also while the
// processor is idle or saves power. See the "Intel 64 and IA-32 Architectures
// Software Developer's Manual", volume 3, "Invariant TSC".
func invariant() bool
