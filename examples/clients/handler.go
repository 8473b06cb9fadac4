package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
)

//go:embed index.html client.js ids.mjs
var files embed.FS

// policy is a Content-Security-Policy. It allows the page to load only scripts of this program,
// and to send requests only to this program.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; img-src data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// newHandler returns a handler that serves the page, and passes other requests on to the servers
// at the URLs ids and orders. The page then reaches both servers under its own address, so that
// neither server has to allow the pages of another site.
func newHandler(ids, orders string) (http.Handler, error) {
	service, err := passTo("-ids", ids)
	if err != nil {
		return nil, err
	}
	shop, err := passTo("-orders", orders)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", service)
	mux.Handle("/orders", shop)
	mux.Handle("/orders/", shop)
	mux.Handle("/", withPolicy(http.FileServerFS(files)))
	return mux, nil
}

// withPolicy adds the policy to the responses of next.
func withPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// passTo returns a handler that forwards requests to the server at address, a URL. It also
// forwards their headers, of which Sec-Fetch-Site shows whether the request is from a page of
// another site. Both servers reject such a request. flagName is the flag that set the address,
// for errors.
func passTo(flagName, address string) (http.Handler, error) {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("%s %q: want an address such as http://127.0.0.1:8080", flagName, address)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			body, _ := json.Marshal(map[string]string{"error": fmt.Sprintf("%s does not answer: %v", target, err)}) // strings always marshal
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write(body) // an error means that the client has gone
		},
	}, nil
}
