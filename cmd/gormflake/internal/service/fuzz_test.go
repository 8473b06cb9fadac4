package service_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/service"
)

// wholeNumber matches a number of up to nine digits without a leading zero.
var wholeNumber = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// wantedCount returns how many IDs a query requests, computed with net/url, or 0 if the
// query is invalid.
func wantedCount(query string, most int) int {
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0
	}
	if len(values) == 0 {
		return 1
	}
	texts, found := values["count"]
	if !found || len(values) > 1 || len(texts) > 1 || !wholeNumber.MatchString(texts[0]) {
		return 0
	}
	n, err := strconv.Atoi(texts[0])
	if err != nil || n > most {
		return 0
	}
	return n
}

// The service parses the query of /v1/ids itself, and must find the same count in it as
// net/url, or refuse the query.
func FuzzCount(f *testing.F) {
	for _, query := range []string{
		"", "&", "count=1", "count=500", "count=501", "count=0", "count=-1", "count=01", "count=%31", "%63ount=2", "count=1&count=1",
		"count", "count=", "=1", "=", "n=1", "count=1&n", "count=1;count=2", ";", "count=+1", "count=1+", "count=%", "count=%2", "count=%zz", "%", "count=١",
	} {
		f.Add(query)
	}
	const most = 500
	handler := open(f, fixedGenerator(f), func(c *service.Config) { c.MaxCount = most })
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/ids", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		want := wantedCount(query, most)
		if want == 0 {
			if w.Code != http.StatusBadRequest {
				t.Fatalf("%q: %d, want 400", query, w.Code)
			}
			return
		}
		if got := len(ids(t, w)); got != want {
			t.Fatalf("%q: %d IDs, want %d", query, got, want)
		}
	})
}

// No text of a client makes the service answer 500. Without the parameter as, the service
// accepts only a decimal number without leading zeros.
func FuzzRead(f *testing.F) {
	for _, seed := range [][2]string{
		{"1", ""}, {"1586025008237383682", ""}, {"1C0NHAY2E0402", "base32"}, {"4FwHzxqs7kL", "base58"}, {"1tA0hgPmavK", "base62"}, {"x", "y"},
	} {
		f.Add(seed[0], seed[1])
	}
	handler := open(f, nil)
	f.Fuzz(func(t *testing.T, id, form string) {
		target := "/v1/ids/" + url.PathEscape(id)
		if form != "" {
			target += "?as=" + url.QueryEscape(form)
		}
		u, err := url.Parse(target)
		if err != nil {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = u
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError || w.Code == http.StatusOK && form == "" && !regexp.MustCompile(`^(0|[1-9]\d*)$`).MatchString(id) {
			t.Fatalf("%q as %q: %d %s", id, form, w.Code, w.Body)
		}
	})
}
