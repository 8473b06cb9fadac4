package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	inspector "github.com/gormflake/gormflake/cmd/gormflake/internal/page"
)

// If the service does not answer or fails, the page says so in the language of the page. It
// marks no field as invalid, because the reader has made no mistake. The page still reads IDs,
// and "Try again" uses the service once it answers.
func TestServiceThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, language, want, console string
		fail                                http.HandlerFunc
	}{
		{"silent", "/v1/layout", "en", "The service does not answer.", "net::ERR_EMPTY_RESPONSE", hangUp},
		{"silent in Chinese", "/config.json", "zh", "服务没有应答。", "net::ERR_EMPTY_RESPONSE", hangUp},
		{"broken off", "/config.json", "en", "The service does not answer.", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", breakOff},
		{"proxy", "/config.json", "en", "The service answered 502.", "the server responded with a status of 502 (Bad Gateway)", badGateway},
		{"login page", "/v1/layout", "en", "The service answered 200.", "", logIn},
		{"problem in Chinese", "/v1/layout", "zh", "服务的应答是 503：no worker", "the server responded with a status of 503 (Service Unavailable)", noWorker},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			origin, repair := failingServer(t, inspector.Config{Layout: true}, c.path, c.fail)
			p := openIn(t, origin, c.language)
			p.want("#outage-error", c.want)
			p.want("#input-error", "")
			if invalid := value[int](p, `document.querySelectorAll("[aria-invalid]").length`); invalid != 0 {
				t.Errorf("%d elements are marked as invalid", invalid)
			}
			p.enter("#input", "54294967296321")
			p.wantContains("#result-id", "54294967296321")
			p.do(chromedp.Focus("#outage-again"))
			value[bool](p, `(document.activeElement.click(), document.activeElement.click(), true)`) // fails too, and only once
			p.until(`document.getElementById("outage-error").textContent === "` + c.want + `"`)
			p.wantFocus("outage-again")
			repair()
			p.do(chromedp.Click("#outage-again"))
			p.until(`document.getElementById("outage").hidden && document.getElementById("layout").value === "service"`)
			p.wantFocus("input")
			if c.console == "" {
				return
			}
			message := "log: Failed to load resource: " + c.console + " " + origin + c.path
			p.log.expect(message)
			p.log.expect(message)
		})
	}
}

// The page stops waiting for a service that accepts the request and does not reply. So that
// the test need not wait, a script lets each wait end at once, except the first, which is for
// config.json.
func TestServiceThatHangs(t *testing.T) {
	t.Parallel()
	origin, _ := failingServer(t, inspector.Config{Layout: true}, "/v1/layout", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p := start(t, origin)
	p.beforeScripts(`{
		let first = true;
		const wait = AbortSignal.timeout;
		AbortSignal.timeout = (ms) => {
			if (!first) return AbortSignal.abort();
			first = false;
			return wait.call(AbortSignal, ms);
		};
	}`)
	p.visit(origin + "/")
	p.want("#outage-error", "The service does not answer.")
}

// If the service fails after the reader has entered the token, the focus moves to "Try again".
func TestOutageAfterToken(t *testing.T) {
	t.Parallel()
	origin, _ := failingServer(t, inspector.Config{Layout: true, Token: true}, "/v1/layout", noWorker)
	p := open(t, origin, "/")
	p.enter("#token-value", "open-sesame-open-sesame-open-sesame")
	p.do(chromedp.Focus("#token-value"))
	p.press(kb.Enter)
	p.until(`document.getElementById("outage-error").textContent !== ""`)
	p.wantFocus("outage-again")
	p.log.expect("log: Failed to load resource: the server responded with a status of 503 (Service Unavailable) " + origin + "/v1/layout")
}

// failingServer serves the page and a service. Until repair is called, fail answers the
// requests for the path.
func failingServer(t *testing.T, cfg inspector.Config, path string, fail http.HandlerFunc) (origin string, repair func()) {
	t.Helper()
	var repaired atomic.Bool
	mux := http.NewServeMux()
	mux.Handle("/", inspector.Handler(cfg, nil))
	mux.HandleFunc("/v1/layout", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"epoch":"2020-01-01T00:00:00Z","tick_ms":10,"datacenter_bits":0,"worker_bits":6,"sequence_bits":8,"total_bits":53}`)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path && !repaired.Load() {
			fail(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() { repaired.Store(true) }
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// breakOff closes the connection within the answer.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"layout":`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// logIn answers as a proxy does that asks the reader to log in.
func logIn(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<h1>Log in</h1>")
}

// badGateway answers as a proxy does whose server is away.
func badGateway(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, "<h1>502 Bad Gateway</h1>")
}

// noWorker answers as the service does, with a problem.
func noWorker(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"title":"Service Unavailable","status":503,"detail":"no worker"}`)
}
