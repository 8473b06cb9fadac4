package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed static/*.html static/*.css static/*.js
var static embed.FS

// An asset is a file with what HTTP wants to know of it.
type asset struct {
	name, contentType, tag string
	content                []byte
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
	return asset{name, contentTypes[path.Ext(name)], tag, content}
}

// loadAssets finds every file: an embed.FS can always be read.
func loadAssets() map[string]asset {
	found := map[string]asset{}
	names, _ := fs.Glob(static, "static/*")
	for _, name := range names {
		content, _ := static.ReadFile(name)
		found["/"+path.Base(name)] = newAsset(name, content)
	}
	found["/"] = found["/index.html"]
	return found
}

// serve lets browsers keep the file and ask each time whether it is still the
// one: a newer program serves other files under the same names.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("ETag", a.tag)
	header.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.content))
}
