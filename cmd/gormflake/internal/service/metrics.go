package service

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gormflake/gormflake/promcollector"
)

// scrapes is how many may be answered at the same time.
const scrapes = 4

// metrics is the handler of /metrics.
func (s *service) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.durations, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.Generator != nil {
		registry.MustRegister(promcollector.New(s.Generator))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.Log.Handler(), slog.LevelError),
		MaxRequestsInFlight: scrapes,
		Timeout:             s.Timeout,
	})
}
