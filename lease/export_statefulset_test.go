package lease

// StatefulSetWorker is [WithStatefulSetWorker] as it works on a machine with this host name.
func StatefulSetWorker(host string) Option {
	return optionFunc(func(c *config) error { return c.setStatefulSetWorker(host) })
}
