package service

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gormflake/gormflake/promcollector"
)

// buckets are the limits of the histogram's buckets, in seconds, from requests that are
// answered at once to the longest waits.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// newDurations returns the histogram that counts all requests.
func newDurations() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "gormflake_http_request_duration_seconds",
		Help:    "How long requests took, by route and status code.",
		Buckets: buckets,
	}, []string{"route", "code"})
}

// observe returns a handler that measures the requests of a route, such as /v1/ids/{id}, and
// logs them if AccessLog is set.
func (s *service) observe(route string, handler http.Handler) http.Handler {
	if s.AccessLog {
		handler = s.logRequests(handler)
	}
	return promhttp.InstrumentHandlerDuration(s.durations.MustCurryWith(prometheus.Labels{"route": route}), handler)
}

// logRequests returns a handler that writes a log line after each request.
func (s *service) logRequests(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, rec := time.Now(), &recorder{ResponseWriter: w}
		handler.ServeHTTP(rec, r)
		s.Log.Info("request", "method", r.Method, "path", r.URL.Path, "status", rec.status, "bytes", rec.bytes,
			"duration_ms", float64(time.Since(start).Microseconds())/1e3, "client", r.RemoteAddr)
	})
}

// A recorder records the status and size of a response.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader does not record an informational status such as 103, because the status of
// the response follows.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write records 200 if the handler has not set a status, as net/http sends it.
func (r *recorder) Write(text []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(text)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] set the deadlines of the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// newBuildInfo returns a metric that is always 1. Its labels are the version of the program,
// as the Go toolchain has recorded it, and the version of Go that has built it.
func newBuildInfo() prometheus.Collector {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(info.Main.Version, version)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "gormflake_build_info",
		Help:        "The version of the program; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// scrapes is the number of requests for metrics that may be answered at the same time.
const scrapes = 4

// metrics returns the handler of /metrics, with the metrics of requests, of the program, of
// the Go runtime, of the process and, if there is a generator, of package promcollector.
func (s *service) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.durations, newBuildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.Generator != nil {
		registry.MustRegister(promcollector.New(s.Generator))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.Log.Handler(), slog.LevelError),
		MaxRequestsInFlight: scrapes,
		Timeout:             s.Timeout,
	})
}
