// Package page is the inspector of Snowflake IDs. It is a web page that reads IDs, draws
// them and composes examples. The page is embedded in the program, and does not load
// files from other sites. It computes in the browser, so that it works without a network,
// and IDs that a user pastes into it are not sent anywhere. The command serve calls
// [Handler].
//
// The algorithm exists twice, in JavaScript here and in Go in package snowflake. The
// tests check both with the same vectors.
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

// A Config tells the page which paths the service offers. The page calls only these
// paths, so that its requests do not fail. The zero Config means that there is no
// service.
type Config struct {
	// Layout enables GET v1/layout, which returns the layout of the service.
	Layout bool `json:"layout"`

	// IDs enables GET v1/ids?count=n, which issues IDs.
	IDs bool `json:"ids"`

	// MaxCount is the largest count of GET v1/ids.
	MaxCount int `json:"max_count"`

	// Workers enables GET v1/workers, which lists the holders of workers.
	Workers bool `json:"workers"`

	// Token means that the paths above require a bearer token, for which the page asks the
	// user.
	Token bool `json:"token"`
}

// policy is the header Content-Security-Policy. It allows the page to load and call only
// addresses of its own service, and forbids other sites to embed the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Handler returns a handler that serves the page at "/", and its files at paths such as
// "/style.css". All addresses in the page are relative, so that [http.StripPrefix] can serve
// it below another path. The handler needs no token and may be called concurrently.
//
// The handler refuses unknown paths with 404, and other methods than GET and HEAD with 405.
// refuse writes such an answer. If refuse is nil, the answer is plain text.
func Handler(cfg Config, refuse func(w http.ResponseWriter, status int, detail string)) http.Handler {
	if refuse == nil {
		refuse = func(w http.ResponseWriter, status int, detail string) { http.Error(w, detail, status) }
	}
	config, _ := json.Marshal(cfg) // Marshal does not fail for bools and a number
	assets := loadAssets()
	assets["/config.json"] = newAsset("config.json", config)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin") // so that the service can recognize its own page
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

// An asset is a file with its headers and its content, plain and compressed.
type asset struct {
	name, contentType, tag string // tag is the ETag
	content, compressed    []byte // compressed is in the format gzip
}

// contentTypes are the content types by the extension of a file. Package mime would take them
// from the machine, where they may differ.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
}

// newAsset returns the file with the name, whose extension decides the content type.
func newAsset(name string, content []byte) asset {
	sum := sha256.Sum256(content) // the tag depends on the content, so that it changes when the file does
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return asset{name, contentTypes[path.Ext(name)], tag, content, compress(content)}
}

// compress returns the content in the format gzip.
func compress(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // writing to memory does not fail
	_ = w.Close()
	return b.Bytes()
}

// loadAssets returns the embedded files by their paths, such as "/style.css". It ignores
// errors, because reading from an [embed.FS] does not fail.
func loadAssets() map[string]asset {
	found := map[string]asset{}
	names, _ := fs.Glob(static, "static/*")
	for _, name := range names {
		content, _ := static.ReadFile(name)
		if name == "static/index.html" {
			content = bytes.Replace(content, []byte("<script"), preloads(names), 1) // before the first script
		}
		found["/"+path.Base(name)] = newAsset(name, content)
	}
	found["/"] = found["/index.html"]
	return found
}

// preloads returns HTML links that let a browser load all JavaScript modules at once.
// Otherwise the browser would find most modules only after it has read the modules that import
// them. names are the embedded files. early.js is left out, because it is not a module. The
// result ends with "<script", because the caller replaces the first "<script" of the page by
// the result.
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

// serve writes the file, compressed if the browser accepts gzip. Browsers may cache it, but
// have to check each time whether it is still current (no-cache), because a newer program
// serves other files under the same names.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("ETag", a.tag)
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	content := a.content
	// A range counts bytes of the plain file, so it is not compressed.
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && r.Header.Get("Range") == "" {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", "W/"+a.tag) // a weak tag, because the compressed bytes differ
		content = a.compressed
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(content))
}
