package testbrowser_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testbrowser"
)

// The browser of Start opens a page and shows its text.
func TestStart(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<!doctype html><h1>here</h1>`))
	}))
	t.Cleanup(server.Close)
	ctx := testbrowser.Start(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	text, err := chromedp.Run(ctx, chromedp.Text("h1"))
	if err != nil || text != "here" {
		t.Errorf("the page says %q, %v, want %q", text, err, "here")
	}
}
