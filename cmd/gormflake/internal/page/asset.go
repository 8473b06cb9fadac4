package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

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
