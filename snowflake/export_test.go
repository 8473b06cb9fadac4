package snowflake

import "time"

// WithReadings scripts both clocks.
func WithReadings(read func() (wall time.Time, elapsed time.Duration)) Option {
	return optionFunc(func(c *config) error {
		c.read = read
		return nil
	})
}

// WithRandom makes the sequence starts repeatable.
func WithRandom(random func(n uint64) uint64) Option {
	return optionFunc(func(c *config) error {
		c.random = random
		return nil
	})
}

// Ordinal reads a StatefulSet's host name.
func Ordinal(host string) (int64, error) { return ordinal(host) }

// Trusts asks a grant that is open up to a count.
func Trusts(until, count uint64) bool {
	var g Grant
	g.trust.Store(until)
	return g.trusts(count)
}

// KeepsUp asks a usable counter that began at a count.
func KeepsUp(start, count uint64, elapsed time.Duration) bool {
	return counter{usable: true, start: start}.keepsUp(count, elapsed)
}
