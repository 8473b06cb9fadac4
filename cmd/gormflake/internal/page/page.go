// Package page is the inspector of Snowflake IDs: a web page that takes IDs
// apart, draws them and composes examples. It is embedded in the program, loads
// nothing from elsewhere, and computes in the browser, so that it works without
// a network and IDs that are pasted into it are sent nowhere.
//
// The algorithm stands twice, here in JavaScript and in package snowflake in
// Go; the tests hold both to the same vectors.
package page

import (
	"encoding/json"
	"net/http"
)

// A Config says what the service next to the page offers. The page calls nothing
// else, so that no request of it fails. The zero Config is the page alone.
type Config struct {
	// Layout: GET v1/layout returns the service's layout.
	Layout bool `json:"layout"`

	// IDs: GET v1/ids?count=n issues IDs.
	IDs bool `json:"ids"`

	// Workers: GET v1/workers lists who holds which worker.
	Workers bool `json:"workers"`

	// Token: all of these want a bearer token, for which the page asks.
	Token bool `json:"token"`
}

// policy lets the page load what this handler serves, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Handler serves the page at "/", and its parts next to it. Its addresses are
// relative, so that [http.StripPrefix] can move it. It needs no token, may be
// called concurrently, and answers what it does not know with 404 and what is
// neither GET nor HEAD with 405.
func Handler(cfg Config) http.Handler {
	config, _ := json.Marshal(cfg) // four bools, which can always be marshalled
	assets := loadAssets()
	assets["/config.json"] = newAsset("config.json", config)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		found, ok := assets[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "method "+r.Method+" not allowed: want GET or HEAD", http.StatusMethodNotAllowed)
		case ok:
			found.serve(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}
