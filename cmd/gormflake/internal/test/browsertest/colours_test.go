package browsertest

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	inspector "github.com/gormflake/gormflake/cmd/gormflake/internal/page"
)

// background evaluates to the colour of the page's background.
const background = `getComputedStyle(document.body).backgroundColor`

// The page follows the colour scheme of the system until the reader chooses one. The choice
// survives a reload.
func TestDarkMode(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#ids=2032119384791810048")
	const light, dark = "rgb(246, 247, 249)", "rgb(18, 21, 26)"
	p.scheme("light")
	p.wantBackground(light)
	p.fit("light-1280", 1280)
	p.scheme("dark")
	p.wantBackground(dark)
	p.fit("dark-1280", 1280)
	p.theme("light")
	p.wantBackground(light)
	p.do(chromedp.Reload())
	p.until(`document.documentElement?.dataset.ready === "true"`)
	p.wantBackground(light)
	p.theme("auto")
	p.wantBackground(dark)
	p.scheme("light")
	p.theme("dark")
	p.wantBackground(dark)
}

// theme clicks the button until it shows the wanted choice.
func (p page) theme(want string) {
	p.t.Helper()
	for range 3 {
		if got := value[string](p, `document.documentElement.dataset.theme ?? "auto"`); got == want {
			return
		}
		p.do(chromedp.Click("#theme"))
	}
	p.t.Fatalf("the button has no choice %q", want)
}

// wantBackground checks the colour of the page's background.
func (p page) wantBackground(want string) {
	p.t.Helper()
	if got := value[string](p, background); got != want {
		p.t.Errorf("the ground is %s, want %s", got, want)
	}
}

// On a phone, whose window is 320 or 360 pixels wide, the page needs no horizontal
// scrolling.
func TestNarrowWindow(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	_, log := thousandIDs(t)
	p.do(chromedp.EmulateViewport(360, 800))
	p.enter("#input", "kVw2Mt8RzB")
	p.fit("ambiguous-360", 360)
	p.enter("#input", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz")
	p.fit("error-360", 360)
	p.enter("#input", "0123456789ABCDEFGHIJKLMNOPQRSTUV-20220628160740105-11-26-0000")
	p.fit("serial-360", 360)
	p.enter("#code", "pay")
	p.enter("#input", log)
	p.do(chromedp.Click("#compose"), chromedp.Click("#shape summary"))
	p.enter("#shape-epoch", "never")
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.fit(scheme+"-360", 360)
		p.fit(scheme+"-768", 768)
	}
	p.fit("light-320", 320)
}

// contrast checks the contrast of every visible text and of the workers' colours with the
// background, which must be at least 4.5, and of the edge of a field, which must be at least
// 3, as WCAG 2 requires. It returns a text for each contrast that is too low, and the number of
// pairs of colours that it has found in texts.
const contrast = `(() => {
	const parse = (text) => text.match(/[\d.]+/g).map(Number);
	const luminance = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05) };
	const groundOf = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] === 1) return c } return [255, 255, 255] };
	const low = new Set(), pairs = new Set();
	for (const e of document.querySelectorAll("body *")) {
		const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || ["INPUT", "TEXTAREA", "SELECT"].includes(e.tagName);
		if (!text || !e.checkVisibility()) continue;
		for (const pseudo of [null, "::before", "::placeholder"]) {
			if (pseudo === "::before" && getComputedStyle(e, pseudo).content === "none") continue;
			const colour = parse(getComputedStyle(e, pseudo).color);
			const ground = groundOf(pseudo === "::before" ? e.parentElement : e); // the ruler stands above its bit
			pairs.add(colour + " on " + ground);
			const got = ratio(colour, ground);
			if (got < 4.5) low.add(e.tagName + "." + e.className + (pseudo ?? "") + " " + colour + " on " + ground + ": " + got.toFixed(2));
		}
	}
	const card = parse(getComputedStyle(document.querySelector("section")).backgroundColor);
	for (let i = 0; i < 8; i++) {
		const probe = document.createElement("span");
		probe.className = "swatch worker-" + i;
		document.body.append(probe);
		const got = ratio(parse(getComputedStyle(probe).backgroundColor), card);
		if (got < 4.5) low.add("worker " + i + ": " + got.toFixed(2)); // their names are written in it
		probe.remove();
	}
	const edge = ratio(parse(getComputedStyle(document.getElementById("input")).borderTopColor), card);
	if (edge < 3) low.add("the edge of a field: " + edge.toFixed(2));
	return { low: [...low], pairs: pairs.size };
})()`

// Every text is legible on its background in both schemes. Parts of the page that are
// hidden now are shown first, so that their colours are checked too.
func TestContrast(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	_, log := thousandIDs(t)
	value[bool](p, `(document.querySelectorAll("[hidden]").forEach((e) => { if (e.id !== "readings") e.hidden = false }), true)`)
	p.do(chromedp.Click("#shape summary"))
	for _, text := range []string{log, "kVw2Mt8RzB", "54294967296321", "9223372036854775807", "007"} {
		p.enter("#input", text)
		p.enter("#generate-worker", "x")
		p.do(chromedp.Click("#compose"))
		for _, scheme := range []string{"light", "dark"} {
			p.scheme(scheme)
			got := value[struct {
				Low   []string
				Pairs int
			}](p, contrast)
			for _, low := range got.Low {
				t.Errorf("%s, %.12q: %s", scheme, text, low)
			}
			if got.Pairs < 5 {
				t.Errorf("%s, %.12q: only %d pairs of colours", scheme, text, got.Pairs)
			}
		}
	}
}

// The chosen colours apply before the page's modules run, so that the page does not flash in
// other colours. The server holds back app.js, the first module, so that the colours without
// modules can be seen.
func TestNoFlashOfOtherColours(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	release := make(chan struct{})
	handler := inspector.Handler(inspector.Config{}, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/app.js" && hold.Load() {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := open(t, server.URL, "/")
	p.scheme("light")
	p.theme("dark")
	hold.Store(true)
	value[bool](p, `(document.documentElement.id = "old", location.reload(), true)`)
	p.until(`document.documentElement?.id !== "old" && document.querySelector("footer p") !== null`)
	p.wantBackground("rgb(18, 21, 26)")
	if value[bool](p, `document.documentElement.dataset.ready === "true"`) {
		t.Error("the page has started before its modules")
	}
	close(release)
	p.until(`document.documentElement?.dataset.ready === "true"`)
	if got := value[string](p, `document.getElementById("theme").textContent`); got != "Colours: dark" {
		t.Errorf("the switch shows %q, want dark", got)
	}
}

// A printed page is light even if the screen is dark.
func TestPrint(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#ids=2032119384791810048")
	p.theme("dark")
	params := emulation.SetEmulatedMediaParams{Media: "print"}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, params); err != nil {
		t.Fatal(err)
	}
	p.until(`matchMedia("print").matches`)
	if got := value[string](p, `getComputedStyle(document.getElementById("result-id")).color`); got != "rgb(25, 29, 36)" {
		t.Errorf("the ID is printed in %s", got)
	}
	if value[bool](p, `document.getElementById("compose").checkVisibility() || !document.querySelector(".bit").checkVisibility()`) {
		t.Error("buttons are printed, or the bits are not")
	}
	p.fit("print-794", 794)
}
