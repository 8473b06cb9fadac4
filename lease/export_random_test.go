package lease

// WithRandom replaces the random numbers of a lease, for simulations. Those of its
// tokens stay: a trace numbers tokens as they appear.
func WithRandom(n func(int64) int64) Option {
	return optionFunc(func(c *config) error { c.random = n; return nil })
}
