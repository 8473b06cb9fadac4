package lease

// WithRandom replaces the source of random numbers of a lease, for simulations, in which the
// same seed must always lead to the same trace. It does not replace the random parts of tokens.
// These may differ, because the lines of a trace show a number for each token, counted in the
// order of appearance, instead of the token.
func WithRandom(n func(int64) int64) Option {
	return optionFunc(func(c *config) error { c.random = n; return nil })
}
