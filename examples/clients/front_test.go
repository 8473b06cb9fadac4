package main_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// front is a proxy in front of a real server. It records requests and responses, and can
// inject a fault.
type front struct {
	URL     string
	mu      sync.Mutex
	paths   []string // paths of the requests
	answers strings.Builder
}

// fault changes a response. A nil fault changes no response.
type fault func(r *http.Request, answer string) string

// newFront starts a proxy in front of the server at the address.
func newFront(t *testing.T, address string, change fault) *front {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error { return f.pass(r, change) },
	})
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// pass records a response, and changes it by the fault.
func (f *front) pass(r *http.Response, change fault) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body.Close()
	f.mu.Lock()
	f.paths = append(f.paths, r.Request.URL.Path)
	f.answers.Write(body)
	f.mu.Unlock()
	if change != nil {
		body = []byte(change(r.Request, string(body)))
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// issued reports whether the server has sent this ID, in quotes.
func (f *front) issued(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Contains(f.answers.String(), `"`+id+`"`)
}

// requestsFor counts the requests for /v1/ids/… or /orders/… of this ID.
func (f *front) requestsFor(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, path := range f.paths {
		if strings.HasSuffix(path, "/"+id) {
			n++
		}
	}
	return n
}
