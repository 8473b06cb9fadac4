package promcollector

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gormflake/gormflake/internal/option"
)

// An Option changes a default of [New]. With a bad argument the collector
// cannot be registered.
type Option interface{ apply(*config) error }

type config struct{ labels prometheus.Labels }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

func newConfig(opts []Option) (config, error) {
	c := config{labels: prometheus.Labels{}}
	return c, option.Apply("promcollector", opts, func(opt Option) error { return opt.apply(&c) })
}

// WithLabels adds labels to every metric, to tell the generators of one process
// apart. A name that Prometheus does not allow, and datacenter and worker, which
// gormflake_worker_info has already, cannot be registered. The default is none.
func WithLabels(labels prometheus.Labels) Option {
	return optionFunc(func(c *config) error {
		maps.Copy(c.labels, labels)
		return nil
	})
}
