package service_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
	"github.com/gormflake/gormflake/snowflake"
)

const secret = "kV3n-9_x.Qm~Zt+7/a=="

func withToken(c *service.Config) { c.Token = secret }

// Only a client that sends exactly the token reaches a guarded path. Other clients learn
// which header is wanted, but not whether the path exists.
func TestToken(t *testing.T) {
	t.Parallel()
	handler := open(t, fixedGenerator(t), withToken, func(c *service.Config) { c.Page = http.NotFoundHandler() })
	for _, test := range []struct {
		name, header string
		want         int
	}{
		{"right", "Bearer " + secret, http.StatusOK},
		{"scheme in any case", "bearer " + secret, http.StatusOK},
		{"more blanks", "Bearer   " + secret, http.StatusOK},
		{"none", "", http.StatusUnauthorized},
		{"only the scheme", "Bearer", http.StatusUnauthorized},
		{"empty", "Bearer ", http.StatusUnauthorized},
		{"no scheme", secret, http.StatusUnauthorized},
		{"another scheme", "Basic " + secret, http.StatusUnauthorized},
		{"a part", "Bearer " + secret[:len(secret)-1], http.StatusUnauthorized},
		{"longer", "Bearer " + secret + "=", http.StatusUnauthorized},
		{"another", "Bearer " + strings.Repeat("x", len(secret)), http.StatusUnauthorized},
		{"case", "Bearer " + strings.ToLower(secret), http.StatusUnauthorized},
	} {
		for _, path := range []string{"/v1/ids", "/v1/ids/5", "/v1/layout", "/metrics"} {
			w := get(handler, path, "Authorization", test.header)
			if w.Code != test.want {
				t.Errorf("%s: %s: %d, want %d", test.name, path, w.Code, test.want)
			}
			if refused := w.Code == http.StatusUnauthorized; refused != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%s: %s: WWW-Authenticate %q", test.name, path, w.Header().Get("WWW-Authenticate"))
			}
		}
	}
	expect(t, get(handler, "/v1/nothing"), http.StatusUnauthorized,
		`{"title":"Unauthorized","status":401,"detail":"a token is wanted: send the header \"Authorization: Bearer …\" with the right one"}`)
}

// Browsers and probes send no token for the page and for /healthz, so these paths answer
// without it.
func TestOpenToAll(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) })
	handler := open(t, fixedGenerator(t), withToken, func(c *service.Config) { c.Page = page })
	for path, want := range map[string]string{"/": "page", "/style.css": "page", "/healthz": `{"status":"ok"}`} {
		if w := get(handler, path); w.Code != http.StatusOK || body(t, w.Body) != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := get(handler, "/"); w.Header().Get("Cache-Control") != "" {
		t.Error("the page's headers are its own")
	}
}

// No path accepts another method than GET and HEAD, because no request changes the server.
// OPTIONS is refused too, because Origins names no site whose pages may call the service.
func TestMethods(t *testing.T) {
	t.Parallel()
	gen := fixedGenerator(t)
	handler := open(t, gen)
	for path, want := range map[string]string{
		"/v1/ids": "GET, HEAD", "/v1/ids/5": "GET, HEAD", "/v1/layout": "GET, HEAD",
		"/healthz": "GET, HEAD", "/metrics": "GET, HEAD", "/nothing": "GET, HEAD",
	} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			w := ask(handler, method, path)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != want {
				t.Errorf("%s %s: %d, Allow %q, want 405, %q", method, path, w.Code, w.Header().Get("Allow"), want)
			}
		}
	}
	expect(t, ask(handler, "POST", "/v1/ids"), http.StatusMethodNotAllowed, `{"title":"Method Not Allowed","status":405,"detail":"method \"POST\" is not allowed here: want GET, HEAD"}`)
	if w := ask(handler, "HEAD", "/v1/layout"); w.Code != http.StatusOK {
		t.Errorf("HEAD /v1/layout: %d", w.Code)
	}
}

// A GET request with a body is refused, because the client may expect that the service
// reads it.
func TestBody(t *testing.T) {
	t.Parallel()
	handler := open(t, fixedGenerator(t))
	for name, length := range map[string]int64{"known length": 4, "unknown length": -1} {
		r := httptest.NewRequest(http.MethodGet, "/v1/ids", strings.NewReader("body"))
		r.ContentLength = length
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Header().Get("Connection") != "close" {
			t.Errorf("%s: the connection stays open", name)
		}
		expect(t, w, http.StatusBadRequest, `{"title":"Bad Request","status":400,"detail":"the request has a body: want none"}`)
	}
}

// The service closes the connection after it rejects a request with a body, so that it
// does not read the body as a second request.
func TestBodyOfRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, method, host string
		status             int
		change             func(*service.Config)
	}{
		{"no token", http.MethodGet, "example.com", http.StatusUnauthorized, withToken},
		{"method", http.MethodPost, "example.com", http.StatusMethodNotAllowed, func(*service.Config) {}},
		{"host", http.MethodGet, "evil.example", http.StatusMisdirectedRequest, func(*service.Config) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, "http://"+test.host+"/v1/ids", strings.NewReader("GET /v1/ids HTTP/1.1\r\n\r\n"))
			w := httptest.NewRecorder()
			open(t, fixedGenerator(t), test.change).ServeHTTP(w, r)
			if w.Code != test.status || w.Header().Get("Connection") != "close" {
				t.Errorf("status %d, Connection %q, want %d and close", w.Code, w.Header().Get("Connection"), test.status)
			}
		})
	}
}

// Paths that do not exist, also below /v1/, get 404 with a problem that names the path.
func TestNotFound(t *testing.T) {
	t.Parallel()
	handler := open(t, fixedGenerator(t))
	for _, path := range []string{"/v1/", "/v1/id", "/v1/ids/", "/v1/ids/1/2", "/v2/ids", "/"} {
		expect(t, get(handler, path), http.StatusNotFound, `{"title":"Not Found","status":404,"detail":"no such path \"`+path+
			`\": see /openapi.json"}`)
	}
}

// Pages of other sites must neither read IDs nor use them up, for example by an <img>.
// Browsers send Sec-Fetch-Site only over HTTPS and to their own machine, so the cases
// "over HTTP" have only a Referer or an Origin. curl and similar clients send neither.
func TestOrigins(t *testing.T) {
	t.Parallel()
	const site, other = "https://app.example.com", "https://evil.example.com"
	const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
	origins := func(list ...string) func(*service.Config) {
		return func(c *service.Config) { c.Origins = list }
	}
	for _, test := range []struct {
		name    string
		allowed []string
		headers []string
		want    string // Access-Control-Allow-Origin
		status  int
	}{
		{"no list", nil, []string{"Origin", site}, "", 403},
		{"listed", []string{"http://localhost:3000", site}, []string{"Origin", site, "Sec-Fetch-Site", "cross-site"}, site, 200},
		{"not listed", []string{site}, []string{"Origin", other}, "", 403},
		{"not listed, a browser", []string{site}, []string{"Origin", other, "Sec-Fetch-Site", "cross-site"}, "", 403},
		{"a prefix", []string{site}, []string{"Origin", site + ".evil.example"}, "", 403},
		{"all", []string{"*"}, []string{"Origin", other, "Sec-Fetch-Site", "cross-site"}, other, 200},
		{"no origin", []string{site}, nil, "", 200},
		{"an image of another site", nil, []string{"Sec-Fetch-Site", "cross-site"}, "", 403},
		{"an image of a neighbour", nil, []string{"Sec-Fetch-Site", "same-site"}, "", 403},
		{"the page", nil, []string{"Sec-Fetch-Site", "same-origin"}, "", 200},
		{"typed in", nil, []string{"Sec-Fetch-Site", "none"}, "", 200},
		{"an image over HTTP, with its page", nil, []string{"User-Agent", browser, "Referer", other + "/page"}, "", 403},
		{"an image over HTTP, without", nil, []string{"User-Agent", browser}, "", 403},
		{"the page over HTTP", nil, []string{"User-Agent", browser, "Referer", "http://example.com/?id=5"}, "", 200},
		{"a form of the page over HTTP", nil, []string{"User-Agent", browser, "Origin", "http://example.com"}, "", 200},
		{"curl", nil, []string{"User-Agent", "curl/8.5.0"}, "", 200},
		{"null", []string{site}, []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, "", 403},
	} {
		w := get(open(t, fixedGenerator(t), origins(test.allowed...)), "/v1/ids", test.headers...)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != test.status || got != test.want {
			t.Errorf("%s: %d, allowed %q, want %d, %q", test.name, w.Code, got, test.status, test.want)
		}
		if vary := w.Header().Get("Vary"); (vary == "Origin") != (len(test.allowed) > 0) {
			t.Errorf("%s: Vary %q", test.name, vary)
		}
	}
}

// A page can point its own domain at this machine. The browser then treats the page and the
// service as one origin, so only the Host header reveals the attack.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	named := func(c *service.Config) { c.Hosts = []string{"ids.internal:8080"} }
	site := func(c *service.Config) {
		c.Origins = []string{"https://ids.example.com", "http://ids.example.com:8080"}
	}
	anySite := func(c *service.Config) { c.Origins = []string{"*"} }
	for _, test := range []struct {
		host   string
		change []func(*service.Config)
		want   int
	}{
		{"ids.internal:8080", []func(*service.Config){named}, http.StatusOK},
		{"IDs.Internal:8080", []func(*service.Config){named}, http.StatusOK},
		{"ids.internal", []func(*service.Config){named}, http.StatusMisdirectedRequest},
		{"evil.example", nil, http.StatusMisdirectedRequest},
		{"evil.example:8080", []func(*service.Config){site}, http.StatusMisdirectedRequest},
		{"localhost.evil.example", nil, http.StatusMisdirectedRequest},
		{"127.0.0.1.evil.example:8080", nil, http.StatusMisdirectedRequest},
		{"evil.example", []func(*service.Config){withToken}, http.StatusOK},
		{"evil.example", []func(*service.Config){anySite}, http.StatusOK},
		{"ids.example.com", []func(*service.Config){site}, http.StatusOK},
		{"IDs.example.com:8080", []func(*service.Config){site}, http.StatusOK},
		{"localhost", nil, http.StatusOK},
		{"LOCALHOST.:8080", nil, http.StatusOK},
		{"ids.localhost:8080", nil, http.StatusOK},
		{"127.0.0.1:8080", nil, http.StatusOK},
		{"[::1]:8080", nil, http.StatusOK},
		{"[::1]", nil, http.StatusOK},
		{"", nil, http.StatusOK},
	} {
		handler := open(t, fixedGenerator(t), test.change...)
		for _, path := range []string{"/v1/ids", "/v1/layout", "/metrics"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = test.host
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("Host %q: %s: %d, want %d", test.host, path, w.Code, test.want)
			}
		}
	}
}

// A page of an allowed site may send its token, and may read the reason of a rejection.
func TestPreflight(t *testing.T) {
	t.Parallel()
	const site = "https://app.example.com"
	handler := open(t, fixedGenerator(t), withToken, func(c *service.Config) { c.Origins = []string{site} })
	w := ask(handler, http.MethodOptions, "/v1/ids", "Origin", site, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization")
	want := map[string]string{
		"Access-Control-Allow-Origin": site, "Access-Control-Allow-Headers": "Authorization", "Access-Control-Allow-Methods": "GET, HEAD",
	}
	for name, value := range want {
		if got := w.Header().Get(name); w.Code != http.StatusNoContent || got != value {
			t.Errorf("%d, %s: %q, want 204, %q", w.Code, name, got, value)
		}
	}
	if w := get(handler, "/v1/ids", "Origin", site); w.Code != http.StatusUnauthorized || w.Header().Get("Access-Control-Allow-Origin") != site {
		t.Errorf("without a token: %d, %v", w.Code, w.Header())
	}
	if w := ask(handler, http.MethodOptions, "/v1/ids", "Origin", "https://evil.example.com"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a preflight of another site: %d", w.Code)
	}
}

// A mistake in the configuration is an error at the start, which names the wrong value and the
// limit. An eighth of the memory is for large blocks, and must hold a block of the largest
// count. So requests of a million IDs need 64262144 bytes, eight times the size of such a
// block.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		change     func(*service.Config)
	}{
		{"layout", "tick", func(c *service.Config) { c.Layout = snowflake.Layout{} }},
		{"short token", "service: a token of 5 characters: want at least 16, at random", func(c *service.Config) { c.Token = "short" }},
		{"blank in the token", "service: the token has a blank", func(c *service.Config) { c.Token = "0123456789 abcdef" }},
		{"count", "service: limit of 1000001 IDs for a request: want 1 to 1000000", func(c *service.Config) { c.MaxCount = service.HighestMaxCount + 1 }},
		{"negative count", "service: limit of -1 IDs", func(c *service.Config) { c.MaxCount = -1 }},
		{"no count", "service: limit of 0 IDs", func(c *service.Config) { c.MaxCount = 0 }},
		{"timeout", "service: timeout -1s: want more than zero", func(c *service.Config) { c.Timeout = -1e9 }},
		{"no timeout", "service: timeout 0s: want more than zero", func(c *service.Config) { c.Timeout = 0 }},
		{"memory", "service: memory of 1048576 bytes: want at least 33554432", func(c *service.Config) { c.MaxMemory = 1 << 20 }},
		{"memory for a request", "service: memory of 64000000 bytes: want at least 64262144 for requests of 1000000 IDs", func(c *service.Config) {
			c.MaxCount, c.MaxMemory = 1_000_000, 64_000_000
		}},
		{"path in the origin", `service: origin "https://a.b/": want one such as`, func(c *service.Config) { c.Origins = []string{"https://a.b/"} }},
		{"origin without a scheme", `service: origin "a.b"`, func(c *service.Config) { c.Origins = []string{"https://a.b", "a.b"} }},
		{"capitals in the origin", `service: origin "https://A.b"`, func(c *service.Config) { c.Origins = []string{"https://A.b"} }},
	} {
		cfg := validConfig()
		test.change(&cfg)
		if _, err := service.New(cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
	cfg := validConfig()
	cfg.Generator = fixedGenerator(t)
	cfg.Layout = snowflake.JSSafeLayout()
	if _, err := service.New(cfg); err == nil || !strings.Contains(err.Error(), "is not the generator's") {
		t.Errorf("layout of another generator: %v", err)
	}
	cfg.Layout = snowflake.TwitterLayout()
	if _, err := service.New(cfg); err != nil {
		t.Errorf("valid: %v", errors.Unwrap(err))
	}
}
