//go:build !(gc && linux && amd64 && !purego && !faketime)

package clock

// Count returns zero: there is no counter, none known to be faster to read than
// the clock, or, as in Go's playground (faketime), the clock is not the machine's.
func Count() uint64 { return 0 }

func invariant() bool { return false }
