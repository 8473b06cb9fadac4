package promcollector

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// leased is what a source reports of its lease: a *lease.Lease, or one that wraps
// it.
type leased interface{ Stats() lease.Stats }

// New makes a collector of the generator, and of its lease if its source is a
// [lease.Lease] or has the lease's method Stats. It may be
// registered with any number of registries, and collects until it is
// unregistered, also after the generator was closed; there is nothing to close.
//
// Registering it fails if the generator is nil, if an option has a bad argument,
// and if the registry has the collector of another generator whose labels are
// the same: see [WithLabels].
func New(gen *snowflake.Generator, opts ...Option) prometheus.Collector {
	labels := prometheus.Labels{}
	err := option.Apply("promcollector", opts, func(opt Option) error { return opt.apply(labels) })
	if gen == nil {
		err = errors.Join(errors.New("promcollector: New(nil): want a generator"), err)
	}
	if err != nil {
		return &collector{metrics: []metric{{desc: prometheus.NewInvalidDesc(err)}}} // which no registry takes
	}
	d := definer{labels: labels}
	d.generator()
	if _, ok := gen.Source().(leased); ok {
		d.lease()
	}
	return &collector{gen, d.metrics}
}

// A metric is one time series and how its value is read.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*reading) float64
}

// A reading is the state that the values of one scrape agree on.
type reading struct {
	generator snowflake.Stats
	expires   time.Time
	healthy   float64 // 1 or 0
	lease     lease.Stats
}

type collector struct {
	gen     *snowflake.Generator
	metrics []metric
}

// Describe serves the registry.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect serves the registry.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	if desc := c.metrics[0].desc; desc.Err() != nil {
		ch <- prometheus.NewInvalidMetric(desc, desc.Err())
		return
	}
	r := &reading{generator: c.gen.Stats(), expires: c.gen.Layout().Expires()}
	if c.gen.Health() == nil {
		r.healthy = 1
	}
	var numbers []string
	if l, ok := c.gen.Source().(leased); ok {
		r.lease = l.Stats()
		numbers = []string{strconv.FormatInt(r.lease.Datacenter, 10), strconv.FormatInt(r.lease.Worker, 10)}
	}
	for _, m := range c.metrics {
		if m.value == nil {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, 1, numbers...)
			continue
		}
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(r))
	}
}
