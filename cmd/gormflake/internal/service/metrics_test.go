package service_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// The metrics contain the generator, the requests of each route and status, and the process.
func TestMetrics(t *testing.T) {
	t.Parallel()
	handler := open(t, leasedGenerator(t, leasetest.NewMemory(), lease.WithWorker(7)))
	get(handler, "/v1/ids?count=41")
	get(handler, "/v1/ids")
	get(handler, "/v1/ids?count=0")
	ask(handler, http.MethodPost, "/v1/ids")
	w := get(handler, "/metrics")
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("status %d, type %q", w.Code, kind)
	}
	for _, line := range []string{
		"gormflake_ids_issued_total 42", "gormflake_healthy 1", "gormflake_refusals_total 0",
		`gormflake_worker_info{datacenter="0",worker="7"} 1`, "gormflake_layout_workers 1024",
		`gormflake_build_info{goversion="` + runtime.Version() + `",version="(devel)"} 1`,
		`gormflake_http_request_duration_seconds_count{code="200",route="/v1/ids"} 2`,
		`gormflake_http_request_duration_seconds_count{code="400",route="/v1/ids"} 1`,
		`gormflake_http_request_duration_seconds_count{code="405",route="/v1/ids"} 1`,
		"# TYPE go_goroutines gauge", "# TYPE process_start_time_seconds gauge",
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, w.Body)
		}
	}
}

// A server that only reads IDs has no metrics of a generator, rather than zeros.
func TestMetricsWithoutAGenerator(t *testing.T) {
	t.Parallel()
	w := get(open(t, nil), "/metrics")
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "gormflake_ids") {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}
