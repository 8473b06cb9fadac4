package promcollector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A definer lists metrics under one set of labels.
type definer struct {
	labels  prometheus.Labels
	metrics []metric
}

func (d *definer) add(kind prometheus.ValueType, name, help string, value func(*reading) float64, labels ...string) {
	desc := prometheus.NewDesc("gormflake_"+name, help, labels, d.labels)
	d.metrics = append(d.metrics, metric{desc, kind, value})
}

func (d *definer) counter(name, help string, value func(*reading) uint64) {
	d.add(prometheus.CounterValue, name, help, func(r *reading) float64 { return float64(value(r)) })
}

func (d *definer) gauge(name, help string, value func(*reading) float64) {
	d.add(prometheus.GaugeValue, name, help, value)
}

func (d *definer) generator() {
	d.gauge("healthy", "1 while IDs can be issued, 0 where the next one cannot be made.",
		func(r *reading) float64 { return r.healthy })
	d.counter("ids_issued_total", "IDs issued.",
		func(r *reading) uint64 { return r.generator.Issued })
	d.counter("waits_total", "Calls that waited for the tick of a slot that they had taken.",
		func(r *reading) uint64 { return r.generator.Waits })
	d.counter("refusals_total", "Calls that returned an error.",
		func(r *reading) uint64 { return r.generator.Refusals })
	d.gauge("lead_seconds", "How far the tick of the last ID is ahead of the wall clock.",
		func(r *reading) float64 { return r.generator.Lead.Seconds() })
	d.counter("clock_backward_steps_total", "Steps back of the wall clock by at least a tick.",
		func(r *reading) uint64 { return r.generator.BackwardSteps })
	d.gauge("clock_largest_backward_step_seconds", "The largest step back of the wall clock.",
		func(r *reading) float64 { return r.generator.LargestBackwardStep.Seconds() })
	d.gauge("layout_expiry_timestamp_seconds", "The first instant that the layout cannot express, in Unix time.",
		func(r *reading) float64 { return unix(r.expires) })
}

func (d *definer) lease() {
	d.gauge("lease_since_timestamp_seconds", "When the worker was taken, in Unix time.",
		func(r *reading) float64 { return unix(r.lease.Since) })
	d.gauge("lease_until_timestamp_seconds", "The end of the window that the store has acknowledged, in Unix time.",
		func(r *reading) float64 { return unix(r.lease.Until) })
	d.gauge("lease_outage_seconds", "For how long no further window could be had; 0 while all is well.",
		func(r *reading) float64 { return since(r.lease.FailingSince) })
	d.counter("lease_extensions_total", "Windows after the first.",
		func(r *reading) uint64 { return r.lease.Extensions })
	d.counter("lease_failures_total", "Attempts at getting a window that failed.",
		func(r *reading) uint64 { return r.lease.Failures })
	d.counter("lease_losses_total", "Workers that another process has taken.",
		func(r *reading) uint64 { return r.lease.Losses })
	d.counter("lease_regressions_total", "Acknowledged writes that the store has forgotten.",
		func(r *reading) uint64 { return r.lease.Regressions })
	d.add(prometheus.GaugeValue, "worker_info", "The worker under which IDs are issued; always 1.", nil, "datacenter", "worker")
}

// unix keeps the fraction of a second, and holds for any layout: a time.Time's
// UnixNano ends in 2262.
func unix(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

func since(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}
