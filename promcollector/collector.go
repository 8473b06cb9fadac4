// Package promcollector exports the metrics of a generator to Prometheus. If the
// generator's worker is leased, it also exports the metrics of the lease.
//
//	prometheus.MustRegister(promcollector.New(gen))
//
// The package is a separate module, with tags such as promcollector/v0.1.0, so that
// applications without it do not depend on Prometheus' client.
//
// Every scrape reads counters that the generator keeps anyway. The metrics therefore add
// no cost to an ID, and a scrape does not access the lease's store.
//
// The metrics of the generator are:
//
//	gormflake_healthy                                1 while IDs can be issued
//	gormflake_ids_issued_total                       IDs issued
//	gormflake_waits_total                            calls that waited for a tick
//	gormflake_refusals_total                         calls that returned an error
//	gormflake_lead_seconds                           how far the last ID is ahead of the clock
//	gormflake_clock_backward_steps_total             steps back of the wall clock
//	gormflake_clock_largest_backward_step_seconds    the largest of them
//	gormflake_layout_expiry_timestamp_seconds        end of the layout's time
//	gormflake_layout_workers                         number of workers of the layout
//
// If the generator has a lease, the metrics of the lease are:
//
//	gormflake_lease_since_timestamp_seconds          when the worker was taken
//	gormflake_lease_until_timestamp_seconds          end of the acknowledged window
//	gormflake_lease_outage_seconds                   how long no window could be had, 0 if all is well
//	gormflake_lease_extensions_total                 windows after the first
//	gormflake_lease_failures_total                   attempts at a window that failed
//	gormflake_lease_losses_total                     workers that another process or a clone has taken, or somebody has released
//	gormflake_lease_regressions_total                writes that the store has forgotten
//	gormflake_worker_info{datacenter,worker}         always 1
//
// The age of the lease is time() - gormflake_lease_since_timestamp_seconds. The rest of
// its window is gormflake_lease_until_timestamp_seconds - time().
//
// # Alerts and a dashboard
//
// In the folder of this package, alerts.yaml contains rules for Prometheus, such as
//
//	gormflake_healthy == 0                                   # no IDs are issued: wake somebody
//	increase(gormflake_lease_regressions_total[1h]) > 0      # the store forgets: IDs may repeat
//
// and dashboard.json is a dashboard for Grafana. OpenTelemetry reads the metrics from the
// registry by go.opentelemetry.io/contrib/bridges/prometheus.
package promcollector

import (
	"errors"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/snowflake"
)

// leaseSource is a generator's source that has a lease, such as a *lease.Lease or a type
// that wraps it.
type leaseSource interface{ Stats() lease.Stats }

// New returns a collector of the metrics of the generator. If the generator's source is a
// [lease.Lease], or has a lease's method Stats, the collector also returns the metrics of
// the lease. It can be registered with any number of registries. It collects until it is
// unregistered, even after the generator is closed. It needs no closing.
//
// Registering the collector fails if the generator is nil, if an option has an invalid
// argument, or if the registry already has the collector of another generator with the
// same labels. See [WithLabels].
func New(gen *snowflake.Generator, opts ...Option) prometheus.Collector {
	labels := prometheus.Labels{}
	err := option.Apply("promcollector", opts, func(opt Option) error { return opt.apply(labels) })
	if gen == nil {
		err = errors.Join(errors.New("promcollector: New(nil): want a generator"), err)
	}
	if err != nil {
		// New cannot return the error. A registry returns it when this Desc is registered.
		return &collector{metrics: []metric{{desc: prometheus.NewInvalidDesc(err)}}}
	}
	d := definer{labels: labels}
	d.addGeneratorMetrics()
	if _, ok := gen.Source().(leaseSource); ok {
		d.addLeaseMetrics()
	}
	return &collector{gen: gen, metrics: d.metrics}
}

// metric is the description of a metric, with the function that returns its value.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*reading) float64 // nil for worker_info, which is always 1
}

// A reading is the state of the generator and its lease at one scrape. The collector computes all
// values of the scrape from it, so that they belong together.
type reading struct {
	generator snowflake.Stats
	layout    snowflake.Layout
	healthy   float64     // 1 or 0
	lease     lease.Stats // zero if the generator has no lease
}

// A collector is the prometheus.Collector of one generator. If New has failed, it has a
// single metric whose description holds the error.
type collector struct {
	gen     *snowflake.Generator
	metrics []metric
}

// Describe sends the descriptions of all metrics to ch, as prometheus.Collector requires. A
// registry rejects the collector if a description holds an error.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect sends the values of all metrics to ch, as prometheus.Collector requires. Prometheus'
// client calls it for each scrape. If New has failed, Collect sends the error.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	if desc := c.metrics[0].desc; desc.Err() != nil { // the only metric if New has failed
		ch <- prometheus.NewInvalidMetric(desc, desc.Err())
		return
	}
	r := &reading{generator: c.gen.Stats(), layout: c.gen.Layout()}
	if c.gen.Health() == nil {
		r.healthy = 1
	}
	var workerLabels []string // the labels of worker_info, the only metric with variable labels
	if l, ok := c.gen.Source().(leaseSource); ok {
		r.lease = l.Stats()
		workerLabels = []string{strconv.FormatInt(r.lease.Datacenter, 10), strconv.FormatInt(r.lease.Worker, 10)}
	}
	for _, m := range c.metrics {
		if m.value == nil { // worker_info
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, 1, workerLabels...)
			continue
		}
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(r))
	}
}

// A definer builds the list of metrics of a collector. All of these metrics have the labels of
// WithLabels.
type definer struct {
	labels  prometheus.Labels // of WithLabels
	metrics []metric
}

// add adds a metric to the list. name is the metric's name without the beginning gormflake_.
// variableLabels are the names of labels whose values Collect reads at each scrape. A metric that
// has them, worker_info, has a nil value and is always 1.
func (d *definer) add(kind prometheus.ValueType, name, help string, value func(*reading) float64, variableLabels ...string) {
	desc := prometheus.NewDesc("gormflake_"+name, help, variableLabels, d.labels)
	d.metrics = append(d.metrics, metric{desc: desc, kind: kind, value: value})
}

// addCounter adds a metric that only rises.
func (d *definer) addCounter(name, help string, value func(*reading) uint64) {
	d.add(prometheus.CounterValue, name, help, func(r *reading) float64 { return float64(value(r)) })
}

// addGauge adds a metric that may rise and fall.
func (d *definer) addGauge(name, help string, value func(*reading) float64) {
	d.add(prometheus.GaugeValue, name, help, value)
}

// addGeneratorMetrics adds the metrics that every generator has.
func (d *definer) addGeneratorMetrics() {
	d.addGauge("healthy", "1 while IDs can be issued, 0 where the next one cannot be made.",
		func(r *reading) float64 { return r.healthy })
	d.addCounter("ids_issued_total", "IDs issued.",
		func(r *reading) uint64 { return r.generator.Issued })
	d.addCounter("waits_total", "Calls that waited for the tick of a slot that they had taken.",
		func(r *reading) uint64 { return r.generator.Waits })
	d.addCounter("refusals_total", "Calls that returned an error.",
		func(r *reading) uint64 { return r.generator.Refusals })
	d.addGauge("lead_seconds", "How far the tick of the last ID is ahead of the wall clock.",
		func(r *reading) float64 { return r.generator.Lead.Seconds() })
	d.addCounter("clock_backward_steps_total", "Steps back of the wall clock by at least a tick.",
		func(r *reading) uint64 { return r.generator.BackwardSteps })
	d.addGauge("clock_largest_backward_step_seconds", "The largest step back of the wall clock.",
		func(r *reading) float64 { return r.generator.LargestBackwardStep.Seconds() })
	d.addGauge("layout_expiry_timestamp_seconds", "The first instant that the layout cannot express, in Unix time.",
		func(r *reading) float64 { return unixSeconds(r.layout.Expires()) })
	d.addGauge("layout_workers", "The number of workers of the layout, over all datacenters.",
		func(r *reading) float64 { return math.Exp2(float64(r.layout.DatacenterBits + r.layout.WorkerBits)) })
}

// addLeaseMetrics adds the metrics of a generator that has a lease.
func (d *definer) addLeaseMetrics() {
	d.addGauge("lease_since_timestamp_seconds", "When the worker was taken, in Unix time.",
		func(r *reading) float64 { return unixSeconds(r.lease.Since) })
	d.addGauge("lease_until_timestamp_seconds", "The end of the window that the store has acknowledged, in Unix time.",
		func(r *reading) float64 { return unixSeconds(r.lease.Until) })
	d.addGauge("lease_outage_seconds", "For how long no further window could be had; 0 while all is well.",
		func(r *reading) float64 { return secondsSince(r.lease.FailingSince) })
	d.addCounter("lease_extensions_total", "Windows after the first.",
		func(r *reading) uint64 { return r.lease.Extensions })
	d.addCounter("lease_failures_total", "Attempts at getting a window that failed.",
		func(r *reading) uint64 { return r.lease.Failures })
	d.addCounter("lease_losses_total", "Workers that another process, or a copy of this process, has taken, or that somebody has released.",
		func(r *reading) uint64 { return r.lease.Losses })
	d.addCounter("lease_regressions_total", "Acknowledged writes that the store has forgotten.",
		func(r *reading) uint64 { return r.lease.Regressions })
	// The value is in the labels, so there is no function that reads it.
	d.add(prometheus.GaugeValue, "worker_info", "The worker under which IDs are issued; always 1.", nil, "datacenter", "worker")
}

// unixSeconds returns t in seconds of Unix time, with their fraction. It does not use UnixNano,
// because that ends in 2262 and a layout may end later.
func unixSeconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// secondsSince returns the seconds since t. It returns 0 for the zero time, and for a time in the
// future, which t can be after the clock was set back.
func secondsSince(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}

// Option configures [New]. If its argument is invalid, the collector cannot be
// registered.
type Option interface{ apply(prometheus.Labels) error }

// optionFunc is an [Option] that is a function. It adds labels to those of all metrics.
type optionFunc func(prometheus.Labels) error

func (f optionFunc) apply(labels prometheus.Labels) error { return f(labels) }

// WithLabels adds labels to every metric, for example to distinguish the generators of a
// process. The collector cannot be registered if the name of a label is one that Prometheus
// does not allow, or is datacenter or worker, which gormflake_worker_info uses. The default
// is no labels.
func WithLabels(labels prometheus.Labels) Option {
	return optionFunc(func(all prometheus.Labels) error {
		maps.Copy(all, labels)
		return nil
	})
}
