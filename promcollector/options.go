package promcollector

import (
	"errors"
	"fmt"
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// An Option changes a default of [New]. With a bad argument the collector
// cannot be registered.
type Option interface{ apply(*config) error }

type config struct{ labels prometheus.Labels }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// newConfig applies all options to the defaults, so that one run shows every
// mistake.
func newConfig(opts []Option) (config, error) {
	c := config{labels: prometheus.Labels{}}
	var errs []error
	for i, opt := range opts {
		if opt == nil {
			errs = append(errs, fmt.Errorf("promcollector: option %d of New is nil", i+1))
			continue
		}
		errs = append(errs, opt.apply(&c))
	}
	return c, errors.Join(errs...)
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
