package service

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// buckets reach from a request that is answered at once to the longest waits, in seconds.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newDurations() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "gormflake_http_request_duration_seconds",
		Help:    "How long requests took, by route and status code.",
		Buckets: buckets,
	}, []string{"route", "code"})
}

// An observed handler counts the requests of a route, and logs them if that is
// wanted.
type observed struct {
	*service
	route   string
	handler http.Handler
	codes   sync.Map // of int to prometheus.Observer: finding one by its labels allocates
}

// A recorder notes what became of a request.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

var recorders = sync.Pool{New: func() any { return new(recorder) }}

func (o *observed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := recorders.Get().(*recorder)
	*rec = recorder{ResponseWriter: w}
	o.handler.ServeHTTP(rec, r)
	took := time.Since(start)
	if rec.status != 0 { // else the client has gone
		o.duration(rec.status).Observe(took.Seconds())
	}
	if o.AccessLog {
		o.Log.Info("request", "method", r.Method, "path", r.URL.Path, "status", rec.status, "bytes", rec.bytes,
			"duration", took, "client", r.RemoteAddr)
	}
	rec.ResponseWriter = nil
	recorders.Put(rec)
}

func (o *observed) duration(status int) prometheus.Observer {
	if found, ok := o.codes.Load(status); ok {
		return found.(prometheus.Observer)
	}
	observer := o.durations.WithLabelValues(o.route, strconv.Itoa(status))
	o.codes.Store(status, observer)
	return observer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(text []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(text)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
