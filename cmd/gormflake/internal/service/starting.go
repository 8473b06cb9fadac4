package service

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Starting returns the handler of a service that has no worker yet, and so cannot issue IDs.
// It answers /livez with 200, so that the process is not restarted, and /metrics, so that the
// alert on processes that issue no IDs fires. It answers all other requests with 503.
func Starting() http.Handler {
	const text = "no worker is leased yet; the log of the server says why"
	mux := http.NewServeMux()
	handle := func(path string, write answer) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Cache-Control"] = noStore
			if err := write(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	notReady := func(http.ResponseWriter, *http.Request) error {
		return &problem{status: http.StatusServiceUnavailable, temporary: true, body: healthReport{Status: "starting", Detail: text}}
	}
	handle("/livez", func(w http.ResponseWriter, _ *http.Request) error { return reply(w, healthReport{Status: "ok"}) })
	mux.Handle("/metrics", unhealthy())
	handle("/readyz", notReady)
	handle("/healthz", notReady)
	handle("/", func(http.ResponseWriter, *http.Request) error { return unavailable(text) })
	return mux
}

// unhealthy returns a handler for /metrics with one metric, which says that no ID can be
// issued. Package promcollector exports a metric of the same name once there is a generator.
// The handler requires no token, because everybody can read the same from /readyz.
func unhealthy() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gormflake_healthy", Help: "1 while IDs can be issued, 0 where the next one cannot be made.",
	}, func() float64 { return 0 }))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes})
}
