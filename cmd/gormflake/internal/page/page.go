// Package page is the inspector of Snowflake IDs: a web page that takes IDs
// apart, draws them and composes examples. It is embedded in the program, loads
// nothing from elsewhere, and computes in the browser, so that it works without
// a network and IDs that are pasted into it are sent nowhere.
//
// The algorithm stands twice, here in JavaScript and in package snowflake in
// Go; the tests hold both to the same vectors.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
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
// neither GET nor HEAD with 405: with refuse, unless that is nil.
func Handler(cfg Config, refuse func(w http.ResponseWriter, status int, detail string)) http.Handler {
	if refuse == nil {
		refuse = func(w http.ResponseWriter, status int, detail string) { http.Error(w, detail, status) }
	}
	config, _ := json.Marshal(cfg) // four bools, which can always be marshalled
	assets := loadAssets()
	assets["/config.json"] = newAsset("config.json", config)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin") // by which the service knows its own page
		found, ok := assets[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("method %.20q is not allowed here: want GET, HEAD", r.Method))
		case ok:
			found.serve(w, r)
		default:
			refuse(w, http.StatusNotFound, fmt.Sprintf("no such path %.100q: see /openapi.json", r.URL.Path))
		}
	})
}

//go:embed static/*.html static/*.css static/*.js
var static embed.FS

// An asset is a file with what HTTP wants to know of it.
type asset struct {
	name, contentType, tag string
	content, compressed    []byte
}

// contentTypes are fixed, since package mime asks the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
}

func newAsset(name string, content []byte) asset {
	sum := sha256.Sum256(content)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return asset{name, contentTypes[path.Ext(name)], tag, content, compress(content)}
}

func compress(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return b.Bytes()
}

// loadAssets finds every file: an embed.FS can always be read.
func loadAssets() map[string]asset {
	found := map[string]asset{}
	names, _ := fs.Glob(static, "static/*")
	for _, name := range names {
		content, _ := static.ReadFile(name)
		if name == "static/index.html" {
			content = bytes.Replace(content, []byte("<script"), preloads(names), 1)
		}
		found["/"+path.Base(name)] = newAsset(name, content)
	}
	found["/"] = found["/index.html"]
	return found
}

// preloads are links to all modules, before the first script: a browser would find
// most of them only by reading the others.
func preloads(names []string) []byte {
	var b bytes.Buffer
	for _, name := range names {
		if path.Ext(name) == ".js" && name != "static/early.js" {
			fmt.Fprintf(&b, "<link rel=\"modulepreload\" href=%q>\n", path.Base(name))
		}
	}
	b.WriteString("<script")
	return b.Bytes()
}

// serve lets browsers keep the file and ask each time whether it is still the
// one: a newer program serves other files under the same names.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("ETag", a.tag)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	content := a.content
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && r.Header.Get("Range") == "" {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", "W/"+a.tag) // the same file in other bytes
		content = a.compressed
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(content))
}
