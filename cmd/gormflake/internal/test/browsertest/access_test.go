package browsertest

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// accessMistakes lists controls without a name, references to missing elements, repeated
// IDs, and sections or tables that a screen reader cannot announce.
const accessMistakes = `(() => {
	const wrong = [];
	const name = (e) => e.ariaLabel || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent.trim() || [...(e.labels ?? [])].map((l) => l.textContent).join("").trim() || (e.tagName === "BUTTON" || e.tagName === "A" ? e.textContent.trim() : "");
	for (const e of document.querySelectorAll("input, select, textarea, button, a, [role=slider], [role=group], [role=img]")) if (!name(e)) wrong.push("no name: " + e.outerHTML);
	for (const attribute of ["aria-labelledby", "aria-describedby", "for", "form"])
		for (const e of document.querySelectorAll("[" + attribute + "]"))
			for (const id of e.getAttribute(attribute).split(" ")) if (!document.getElementById(id)) wrong.push(attribute + " leads nowhere: " + id);
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("twice: " + id);
	for (const section of document.querySelectorAll("section")) if (!section.hasAttribute("aria-labelledby")) wrong.push("a section without a name");
	for (const table of document.querySelectorAll("table")) if (table.querySelector("td") && !table.querySelector("th[scope]")) wrong.push("a table without headers: " + table.id);
	if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
	if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
	return wrong;
})()`

// A screen reader can announce every control, section and table, before input, with an
// ambiguous text and with a log.
func TestEverythingHasAName(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	_, log := thousandIDs(t)
	for _, text := range []string{"", "kVw2Mt8RzB", log} {
		p.enter("#input", text)
		for _, wrong := range value[[]string](p, accessMistakes) {
			t.Errorf("%.12q: %s", text, wrong)
		}
	}
	p.want("#status", "1,000 IDs found")
}

// A reader can decode an ID, compose another ID and decode the composed ID with the keyboard
// alone.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	id := compose(t, snowflake.JSSafeLayout(), time.Hour, 5, 6)
	p.press(kb.Tab)
	p.wantFocus("skip")
	p.press(kb.Enter)
	p.wantFocus("input")
	p.press(id.String())
	p.tabTo("layout")
	p.press("j") // selects by the first letter
	p.wantID(snowflake.JSSafeLayout(), id)
	p.tabTo("generate-worker")
	p.press(kb.Backspace, "6", "3")
	p.press(kb.Enter)
	p.wantContains("#generated-label", "not a unique key")
	p.tabTo("generated-read")
	p.press(kb.Enter)
	p.want("#value-worker", "63")
	p.wantFocus("input")
}

// tabTo presses Tab until the element has the focus. At each stop, the focus must be visible.
func (p page) tabTo(id string) {
	p.t.Helper()
	for range 60 {
		p.press(kb.Tab)
		if value[bool](p, `getComputedStyle(document.activeElement).outlineStyle === "none" && getComputedStyle(document.activeElement.parentElement).outlineStyle === "none"`) {
			p.t.Errorf("the focus cannot be seen on %s", value[string](p, `document.activeElement.outerHTML`))
		}
		if value[string](p, `document.activeElement.id`) == id {
			return
		}
	}
	p.t.Fatalf("Tab does not lead to %s", id)
}

// wantFocus checks which element has the focus.
func (p page) wantFocus(id string) {
	p.t.Helper()
	if got := value[string](p, `document.activeElement.id`); got != id {
		p.t.Errorf("the focus is on %q, want %q", got, id)
	}
}

// Once loaded, the page reads and composes IDs without a network. The server is closed, so
// that a request would fail.
func TestOffline(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	p := open(t, server.URL, "/")
	server.Close()
	before := p.log.requestCount()
	id := compose(t, snowflake.TwitterLayout(), time.Hour, 5, 6)
	p.enter("#input", id.Base32())
	p.wantID(snowflake.TwitterLayout(), id)
	_, log := thousandIDs(t)
	p.enter("#input", log)
	p.wantContains("#timeline-summary", "1,000 IDs")
	p.do(chromedp.Click("#compose"))
	p.wantContains("#generated-label", "not a unique key")
	if after := p.log.requestCount(); after != before {
		t.Errorf("%d requests after the page was loaded", after-before)
	}
}

// requestCount returns the number of requests so far.
func (s *eventLog) requestCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// The button beside a form copies exactly this form to the clipboard.
func TestCopy(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#ids=7529595880471527425")
	p.do(chromedp.Click("#texts tbody tr:nth-child(2) button"))
	p.until(`document.getElementById("status").textContent === "Base 32 copied"`)
	allow := browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted}
	if _, err := chromedp.CallBrowser(p.ctx, browser.SetPermission, allow); err != nil {
		t.Fatal(err)
	}
	if got, want := value[string](p, `navigator.clipboard.readText()`), types.ID(7529595880471527425).Base32(); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}
