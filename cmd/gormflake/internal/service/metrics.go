package service

import (
	"errors"
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
func (s *service) metrics() (http.Handler, error) {
	s.durations = newDurations()
	registry := prometheus.NewRegistry()
	err := errors.Join(
		registry.Register(s.durations),
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
	if s.Generator != nil {
		err = errors.Join(err, registry.Register(promcollector.New(s.Generator)))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.Log.Handler(), slog.LevelError),
		MaxRequestsInFlight: scrapes,
		Timeout:             s.Timeout,
	}), err
}
