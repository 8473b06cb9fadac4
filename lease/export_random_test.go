package lease

// WithRandom replaces the random numbers of a lease, for simulations. It does not
// replace those in tokens, because a trace numbers the tokens in the order of their
// appearance.
func WithRandom(n func(int64) int64) Option {
	return optionFunc(func(c *config) error { c.random = n; return nil })
}
