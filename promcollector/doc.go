// Package promcollector shows a generator to Prometheus, and the lease of its
// worker where it has one.
//
//	prometheus.MustRegister(promcollector.New(gen))
//
// It is a module of its own, with tags such as promcollector/v0.1.0, so that no
// other application gets Prometheus' client.
//
// Every scrape reads counters that the generator keeps anyway: an ID costs
// nothing more, and the lease's store is not asked.
//
// Of the generator:
//
//	gormflake_healthy                                1 while IDs can be issued
//	gormflake_ids_issued_total                       IDs issued
//	gormflake_waits_total                            calls that waited for a tick
//	gormflake_refusals_total                         calls that returned an error
//	gormflake_lead_seconds                           how far the last ID is ahead of the clock
//	gormflake_clock_backward_steps_total             steps back of the wall clock
//	gormflake_clock_largest_backward_step_seconds    the largest of them
//	gormflake_layout_expiry_timestamp_seconds        end of the layout's time
//
// Of a lease, if the generator has one:
//
//	gormflake_lease_since_timestamp_seconds          when the worker was taken
//	gormflake_lease_until_timestamp_seconds          end of the acknowledged window
//	gormflake_lease_outage_seconds                   how long no window could be had, 0 if all is well
//	gormflake_lease_extensions_total                 windows after the first
//	gormflake_lease_failures_total                   attempts at a window that failed
//	gormflake_lease_losses_total                     workers that another process has taken
//	gormflake_lease_regressions_total                writes that the store has forgotten
//	gormflake_worker_info{datacenter,worker}         always 1
//
// The lease's age is time() - gormflake_lease_since_timestamp_seconds, and what
// is left of its window gormflake_lease_until_timestamp_seconds - time().
//
// # Alerts and a dashboard
//
// In the folder of this package, alerts.yaml has rules for Prometheus, such as
//
//	gormflake_healthy == 0                                   # no IDs are issued: wake somebody
//	increase(gormflake_lease_regressions_total[1h]) > 0      # the store forgets: IDs may repeat
//
// and dashboard.json is a dashboard for Grafana. OpenTelemetry takes the metrics
// by go.opentelemetry.io/contrib/bridges/prometheus, from the registry.
package promcollector
