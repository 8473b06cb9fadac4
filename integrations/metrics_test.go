package integrations_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/gormflake/gormflake/promcollector"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// TestOpenTelemetryMetrics checks that OpenTelemetry reads the metrics that the collector
// exports to Prometheus.
func TestOpenTelemetryMetrics(t *testing.T) {
	t.Parallel()
	gen := must(snowflake.New(snowflake.Static(0, 7)))(t)
	defer gen.Close(t.Context())
	must(0, gen.Fill(t.Context(), make([]types.ID, 1000)))(t)

	registry := prometheus.NewRegistry()
	registry.MustRegister(promcollector.New(gen))
	producer := metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(registry)))
	reader := metric.NewManualReader(producer) // an application's: metric.NewPeriodicReader(exporter, producer)
	metric.NewMeterProvider(metric.WithReader(reader))

	var got metricdata.ResourceMetrics
	must(0, reader.Collect(t.Context(), &got))(t)
	values := map[string]any{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			values[m.Name] = m.Data
		}
	}
	issued, counts := values["gormflake_ids_issued_total"].(metricdata.Sum[float64])
	if !counts || !issued.IsMonotonic || issued.DataPoints[0].Value != 1000 {
		t.Errorf("IDs issued: %+v; want 1000 in a counter", values)
	}
	healthy, gauges := values["gormflake_healthy"].(metricdata.Gauge[float64])
	if !gauges || healthy.DataPoints[0].Value != 1 {
		t.Errorf("healthy: %+v; want 1 in a gauge", values)
	}
}
