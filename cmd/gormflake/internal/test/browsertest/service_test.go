package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	inspector "github.com/gormflake/gormflake/cmd/gormflake/internal/page"
	"github.com/gormflake/gormflake/internal/test/testserver"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// With the built program and a database, the page shows the program's layout, IDs and
// workers.
func TestServiceOfTheProgram(t *testing.T) {
	t.Parallel()
	p := open(t, startProgram(t, "--layout", "js-safe"), "/")
	if got := value[string](p, `document.getElementById("layout").value`); got != "service" {
		t.Errorf("layout %q is chosen, want the service's", got)
	}
	p.wantContains("#shape-text", "39 bits of 10 ms")
	p.wantContains(`#layout [value="service"]`, "js-safe")
	p.wantIssued(snowflake.JSSafeLayout())
	p.wantContains("#workers-summary", "1 held")
	p.want("#issue-most", "(up to 10,000)")
	p.do(chromedp.Click("#workers-refresh"))
	p.want("#workers-table tbody tr td:nth-child(3)", "held")
	p.do(chromedp.Click("#example"))
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.fit("service-"+scheme+"-360", 360)
		p.fit("service-"+scheme+"-1280", 1280)
	}
}

// After workers raise, the store has a record for each of the 1,024 workers. The page shows
// the worker that is held, and a single line for all workers that wait.
func TestManyWorkersAreFolded(t *testing.T) {
	t.Parallel()
	testserver.Program(t, "chromium")
	program := testserver.Build(t, "../../..")
	database := filepath.Join(t.TempDir(), "app.db")
	if err := os.WriteFile(database, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dsn := "sqlite://" + filepath.ToSlash(database)
	run(t, program, program+" gen --dsn "+dsn)
	run(t, program, program+" workers raise --to now --yes --dsn "+dsn)
	p := open(t, testserver.Serve(t, program, "serve", "--addr", "127.0.0.1:0", "--dsn", dsn), "/")
	p.want("#workers-summary", "1 held, 1,023 free")
	p.want("#workers-free summary", "1,023 free")
	p.wantContains("#workers-free p", ", 31/0–31")
	if rows := value[int](p, `document.querySelectorAll("#workers-table tbody tr").length`); rows != 1 {
		t.Errorf("the table has %d rows, want the worker that is held", rows)
	}
	for _, width := range []int64{390, 1440} {
		p.fit("raised", width)
		if height := value[int](p, `document.documentElement.scrollHeight`); height > 6000 {
			t.Errorf("at %d, the page is %d pixels tall", width, height)
		}
	}
	run(t, program, program+" workers raise --to +2h --yes --dsn "+dsn)
	p.until(`(document.getElementById("workers-refresh").click(), document.getElementById("workers-waiting").textContent.includes(" waiting until "))`)
}

// The reader can get as many IDs at once as --max-count allows, and read them again.
func TestMostIDsOfTheService(t *testing.T) {
	t.Parallel()
	p := open(t, startProgram(t, "--max-count", "15000"), "/")
	p.want("#issue-most", "(up to 15,000)")
	p.enter("#issue-count", "15001")
	p.do(chromedp.Click("#issue"))
	p.want("#issue-count-error", "15,001 IDs: want 1 to 15,000")
	p.enter("#issue-count", "15000")
	p.do(chromedp.Click("#issue"))
	p.until(`document.getElementById("issued-label").textContent === "15,000 issued by the service: unique keys"`)
	p.do(chromedp.Click("#issued-read"))
	p.wantContains("#timeline-summary", "15,000 IDs of 1 worker")
}

// wantIssued requests IDs from the service, and checks that they are new.
func (p page) wantIssued(layout snowflake.Layout) {
	p.t.Helper()
	began := time.Now().Add(-time.Minute)
	p.enter("#issue-count", "3")
	p.do(chromedp.Click("#issue"))
	p.until(`document.getElementById("issued-label").textContent.includes("unique keys")`)
	ids := strings.Fields(value[string](p, `document.getElementById("issued-ids").value`))
	if len(ids) != 3 {
		p.t.Fatalf("issued %q, want 3", ids)
	}
	for _, text := range ids {
		id, err := types.ParseID(text)
		if err != nil || layout.Time(id).Before(began) || layout.Time(id).After(time.Now().Add(time.Minute)) {
			p.t.Errorf("issued %q of %v, %v", text, layout.Time(id), err)
		}
	}
}

// If the service requires a token, the page asks for it before it calls the service. It
// decodes IDs without a token.
func TestTokenIsAskedFor(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("open-sesame-open-sesame-open-sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, startProgram(t, "--token-file", file), "/#ids=2032119384791810048")
	p.want("#result-id", "2032119384791810048")
	if !value[bool](p, `document.getElementById("read").nextElementSibling.id === "token"`) {
		t.Error("the token is not asked for directly below the decoder")
	}
	if value[bool](p, `document.getElementById("token").hidden || !document.getElementById("issued").hidden`) {
		t.Error("no token is asked for, or IDs are offered without one")
	}
	p.refuseTokens()
	p.enter("#token-value", "open-sesame-open-sesame-open-sesame")
	p.press(kb.Enter)
	p.until(`!document.getElementById("workers").hidden`)
	p.until(`document.activeElement.id === "input"`)
	p.wantIssued(snowflake.TwitterLayout())
	p.do(chromedp.Reload()) // the tab keeps the token
	p.until(`document.documentElement?.dataset.ready === "true"`)
	p.wantIssued(snowflake.TwitterLayout())
}

// refuseTokens enters invalid tokens. The browser itself logs each answer 401 to the console.
// The page does not even send a token with characters that a header cannot contain.
func (p page) refuseTokens() {
	p.t.Helper()
	for token, want := range map[string]string{"wrong": "the service refused the token", "geöffnet": "other characters than ASCII", "two words": "has blanks"} {
		p.enter("#token-value", token)
		p.do(chromedp.Focus("#token-value"))
		p.press(kb.Enter)
		p.until(`document.getElementById("token-value-error").textContent.includes("` + want + `") && !document.getElementById("token").hidden`)
		p.wantFocus("token-value")
	}
	p.log.expect("log: Failed to load resource: the server responded with a status of 401 (Unauthorized) " + value[string](p, `new URL("v1/layout", location).href`))
}

// If the reader chooses a layout before a slow service has sent its layout, the choice stays.
// A link selects the layout of the service if it names no layout, or a layout that equals the
// layout of the service. If the layout in a link is invalid, no layout is selected, and no ID
// is decoded.
func TestSlowService(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/", inspector.Handler(inspector.Config{Layout: true}, nil))
	mux.HandleFunc("/v1/layout", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"epoch":"2020-01-01T00:00:00Z","tick_ms":10,"datacenter_bits":0,"worker_bits":6,"sequence_bits":8,"total_bits":53}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := start(t, server.URL)
	p.do(chromedp.Navigate(server.URL + "/#ids=2032119384791810048"))
	p.until(`document.getElementById("result")?.hidden === false`)
	p.enter("#layout", "discord")
	close(release)
	p.until(`document.documentElement?.dataset.ready === "true"`)
	if got := value[string](p, `document.getElementById("layout").value`); got != "discord" {
		t.Errorf("layout %q, want the one that was chosen", got)
	}
	for link, want := range map[string]string{"": "service", "layout=service": "service", "layout=js-safe": "service", "layout=discord": "discord", "layout=nonsense": ""} {
		p.visit(server.URL + "/#ids=54294967296321&" + link)
		if got := value[string](p, `document.getElementById("layout").value`); got != want {
			t.Errorf("%q: layout %q, want %q", link, got, want)
		}
		if value[bool](p, `document.getElementById("result").hidden`) != (want == "") {
			t.Errorf("%q: an ID is decoded in no layout, or not decoded", link)
		}
	}
}

// startProgram builds the program, starts its service with a new database on a free port, and
// returns the origin.
func startProgram(t *testing.T, args ...string) string {
	t.Helper()
	testserver.Program(t, "chromium") // skip before the build if there is no browser
	database := filepath.Join(t.TempDir(), "app.db")
	if err := os.WriteFile(database, nil, 0o600); err != nil { // the program does not create a database
		t.Fatal(err)
	}
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--dsn", "sqlite://" + filepath.ToSlash(database)}, args...)
	return testserver.Serve(t, testserver.Build(t, "../../.."), args...)
}
