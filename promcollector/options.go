package promcollector

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// An Option changes a default of [New]. With a bad argument the collector
// cannot be registered.
type Option interface{ apply(prometheus.Labels) error }

type optionFunc func(prometheus.Labels) error

func (f optionFunc) apply(labels prometheus.Labels) error { return f(labels) }

// WithLabels adds labels to every metric, to tell the generators of one process
// apart. A name that Prometheus does not allow, and datacenter and worker, which
// gormflake_worker_info has already, cannot be registered. The default is none.
func WithLabels(labels prometheus.Labels) Option {
	return optionFunc(func(all prometheus.Labels) error {
		maps.Copy(all, labels)
		return nil
	})
}
