package page_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/page"
)

// get requests a path of the page. header contains pairs of name and value.
func get(t *testing.T, cfg page.Config, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	page.Handler(cfg, nil).ServeHTTP(recorder, request)
	response := recorder.Result()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// Each file has its content type, without which a browser does not run a module or apply a
// style.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/":             "text/html; charset=utf-8",
		"/index.html":   "text/html; charset=utf-8",
		"/style.css":    "text/css; charset=utf-8",
		"/app.js":       "text/javascript; charset=utf-8",
		"/snowflake.js": "text/javascript; charset=utf-8",
		"/config.json":  "application/json",
	} {
		response, body := get(t, page.Config{}, http.MethodGet, path)
		if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != want || body == "" {
			t.Errorf("%s: %s, %q, %d bytes; want 200, %q", path, response.Status, response.Header.Get("Content-Type"), len(body), want)
		}
		wantSafe(t, path, response)
	}
}

// wantSafe checks that the Content-Security-Policy allows no code from other sites, and that
// the browser must not guess another content type (nosniff).
func wantSafe(t *testing.T, path string, response *http.Response) {
	t.Helper()
	policy := response.Header.Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy+";", directive+";") {
			t.Errorf("%s: policy %q lacks %q", path, policy, directive)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("%s: policy %q", path, policy)
	}
	if got := response.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options %q", path, got)
	}
}

// /config.json tells the page which paths it may call.
func TestConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]page.Config{
		`{"layout":false,"ids":false,"max_count":0,"workers":false,"token":false}`: {},
		`{"layout":true,"ids":true,"max_count":500,"workers":true,"token":true}`:   {Layout: true, IDs: true, MaxCount: 500, Workers: true, Token: true},
		`{"layout":true,"ids":false,"max_count":0,"workers":true,"token":false}`:   {Layout: true, Workers: true},
	} {
		if _, got := get(t, cfg, http.MethodGet, "/config.json"); got != want {
			t.Errorf("%+v: %s, want %s", cfg, got, want)
		}
	}
}

// A browser that already has the current file gets 304 without a body. A browser with another
// version gets the file. The ETag of config.json depends on the configuration.
func TestETag(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/app.js", "/config.json"} {
		first, _ := get(t, page.Config{}, http.MethodGet, path)
		tag := first.Header.Get("ETag")
		if first.Header.Get("Cache-Control") != "no-cache" || len(tag) < 10 {
			t.Errorf("%s: Cache-Control %q, ETag %q", path, first.Header.Get("Cache-Control"), tag)
		}
		if again, body := get(t, page.Config{}, http.MethodGet, path, "If-None-Match", tag); again.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s: %s with its own tag, want 304", path, again.Status)
		}
		if other, body := get(t, page.Config{}, http.MethodGet, path, "If-None-Match", `"other"`); other.StatusCode != http.StatusOK || body == "" {
			t.Errorf("%s: %s with another tag, want 200", path, other.Status)
		}
	}
	without, _ := get(t, page.Config{}, http.MethodGet, "/config.json")
	with, _ := get(t, page.Config{IDs: true}, http.MethodGet, "/config.json")
	if without.Header.Get("ETag") == with.Header.Get("ETag") {
		t.Errorf("two configurations share the tag %s", with.Header.Get("ETag"))
	}
}

// The handler serves only the files of the page. It does not serve the files that lie
// beside them in the repository.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/nothing", http.StatusNotFound},
		{http.MethodGet, "/package.json", http.StatusNotFound},
		{http.MethodGet, "/static/app.js", http.StatusNotFound},
		{http.MethodGet, "/../page.go", http.StatusNotFound},
		{http.MethodPost, "/", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/nothing", http.StatusMethodNotAllowed},
		{http.MethodHead, "/", http.StatusOK},
	} {
		response, body := get(t, page.Config{}, c.method, c.path)
		if response.StatusCode != c.status {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, response.Status, c.status)
		}
		if c.method == http.MethodHead && body != "" {
			t.Errorf("%s %s: a body", c.method, c.path)
		}
		wantSafe(t, c.path, response)
	}
}

// The page has no inline code, which the policy would block, and loads no file from another
// site.
func TestNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`(?i)https?://|<script(?:>| [^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|innerHTML|insertAdjacentHTML|\beval\(`)
	link := regexp.MustCompile(`<a href="https://github\.com/gormflake/[^"]*">|xmlns="[^"]*"`) // a reader may follow the link, and a browser loads no namespace
	files, err := os.ReadDir("static")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile("static/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range foreign.FindAllString(link.ReplaceAllString(string(content), ""), -1) {
			t.Errorf("%s: %q", file.Name(), found)
		}
	}
}

// A browser that accepts gzip gets each file compressed. The header Vary tells caches that the
// answer depends on the header Accept-Encoding of the request.
func TestCompressed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/style.css", "/app.js", "/config.json"} {
		_, plain := get(t, page.Config{}, http.MethodGet, path)
		response, compressed := get(t, page.Config{}, http.MethodGet, path, "Accept-Encoding", "gzip, br")
		content, err := gzip.NewReader(strings.NewReader(compressed))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := io.ReadAll(content)
		if string(got) != plain || err != nil || response.Header.Get("Content-Encoding") != "gzip" || response.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d bytes, error %v, header %v; want the file's %d bytes", path, len(got), err, response.Header, len(plain))
		}
	}
}

// index.html preloads every module, so that the browser requests them all at once. Only
// early.js is not a module, and must not be preloaded as one.
func TestPreloads(t *testing.T) {
	t.Parallel()
	_, index := get(t, page.Config{}, http.MethodGet, "/")
	files, err := filepath.Glob("static/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if got, want := strings.Contains(index, `<link rel="modulepreload" href="`+name+`">`), name != "early.js"; got != want {
			t.Errorf("%s is preloaded: %t, want %t", name, got, want)
		}
	}
}
