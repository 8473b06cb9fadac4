package lease

// WithRandom replaces the source of random numbers of a lease, for simulations. It does not
// replace the random parts of tokens. These need not repeat, because a trace contains the
// number of each token, in the order of appearance, instead of its text.
func WithRandom(n func(int64) int64) Option {
	return optionFunc(func(c *config) error { c.random = n; return nil })
}
