package browsertest

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gormflake/gormflake/snowflake"
)

// axe returns the script of the npm package axe-core, which finds barriers for disabled
// readers.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("GORMFLAKE_TEST_AXE")
	if path == "" {
		t.Skip("GORMFLAKE_TEST_AXE does not name a file: see CONTRIBUTING.md")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// violations lists what axe finds in the page, with the beginning of each element.
const violations = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
	violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ": " + node.html.slice(0, 160) + " " + node.failureSummary)))`

// states brings a page into each state that it can show, by the name of the state.
func states(t *testing.T) map[string]func(p page) {
	t.Helper()
	_, log := thousandIDs(t)
	input := func(text string) func(page) {
		return func(p page) { p.enter("#input", text) }
	}
	return map[string]func(page){
		"start":     func(page) {},
		"one":       input("175928847299117063"),
		"JS-safe":   func(p page) { p.enter("#layout", "js-safe"); p.enter("#input", "54294967296321") },
		"ambiguous": input("kVw2Mt8RzB"),
		"doubtful":  input("9223372036854775807"),
		"error":     input("no ID here"),
		"UUID":      input("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"),
		"log":       func(p page) { p.enter("#input", log); p.enter("#code", "PAY-") },
		"range": func(p page) {
			p.enter("#input", log)
			p.do(chromedp.Focus("#strip"), chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
			p.wantContains("#ids-summary", "1,000") // the table shows only some of them
		},
		"mistakes": func(p page) {
			p.do(chromedp.Click("#shape summary"))
			p.enter("#shape-epoch", "never")
			p.enter("#code", "pay")
			p.enter("#generate-worker", "x")
			p.do(chromedp.Click("#compose"))
		},
		"composed": func(p page) { p.enter("#generate-count", "3"); p.do(chromedp.Click("#compose")) },
		"link":     func(p page) { p.visit(value[string](p, `location.origin`) + "/#ids=5&layout=mastodon") },
	}
}

// widths are the widths of windows in pixels, from a phone to a large screen.
var widths = []int64{375, 768, 1280, 1920}

// axe reports no violation in any state, at any width, in light or dark.
func TestAxe(t *testing.T) {
	t.Parallel()
	script := axe(t)
	for name, enter := range states(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, serve(t), "/")
			enter(p)
			value[any](p, script+"\n;true")
			for _, width := range widths {
				p.runAxe(name, width)
			}
		})
	}
}

// axe reports no violation in a page with a service, with IDs and workers, and in the
// form for the token.
func TestAxeOfService(t *testing.T) {
	t.Parallel()
	script := axe(t)
	p := open(t, startProgram(t), "/")
	p.wantIssued(snowflake.TwitterLayout())
	value[any](p, script+"\n;true")
	for _, width := range widths {
		p.runAxe("service", width)
	}
	value[bool](p, `(document.getElementById("token").hidden = document.getElementById("outage").hidden = false, true)`)
	value[bool](p, `(document.getElementById("outage-error").textContent = "The service does not answer.", true)`)
	p.runAxe("token", 375)
}

// runAxe checks the page at the width in both colour schemes. name is the name of its
// screenshots.
func (p page) runAxe(name string, width int64) {
	p.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.fit(fmt.Sprintf("%s-%s-%d", name, scheme, width), width)
		for _, found := range value[[]string](p, violations) {
			p.t.Errorf("%s, %d: %s", scheme, width, found)
		}
	}
}
