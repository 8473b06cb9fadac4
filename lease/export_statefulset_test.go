package lease

// StatefulSetWorker is [WithStatefulSetWorker] on a machine with this host name.
func StatefulSetWorker(host string) Option {
	return optionFunc(func(c *config) error { return c.setStatefulSetWorker(host) })
}
