package browsertest

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// fieldNames returns the names of the fields in the drawing that are legible. Such a name
// is inside the window, is not cut off, and has visible bits.
const fieldNames = `[...document.querySelectorAll("#drawing .part")].filter((part) => {
	const name = part.querySelector("h3"), box = name.getBoundingClientRect();
	const bits = part.querySelector(".bits").getBoundingClientRect();
	return name.checkVisibility() && box.left >= 0 && box.right <= innerWidth && name.scrollWidth <= name.clientWidth && bits.width > 0 && bits.left < innerWidth;
}).map((part) => part.querySelector("h3").firstChild.data.trim()).join(" ")`

// Before any input, the page decodes an ID of the current time, and every field name is
// legible at every width.
func TestStartExplainsItself(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for _, width := range widths {
		p.fit(fmt.Sprintf("start-%d", width), width)
		for layout, want := range map[string]string{
			"twitter": "unused time datacenter worker sequence",
			"js-safe": "unused time worker sequence",
		} {
			p.enter("#layout", layout)
			if got := value[string](p, fieldNames); got != want {
				t.Errorf("%s at %d: the drawing names %q, want %q", layout, width, got, want)
			}
		}
	}
	p.enter("#layout", "twitter")
	p.wantContains("#sentence", time.Now().UTC().Format("2 January 2006"))
	shown, err := strconv.ParseUint(p.text("#result-id"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p.want("#exactness", fmt.Sprintf("A JavaScript number holds 53 bits exactly. This ID has %d, and is rounded to another ID.", bits.Len64(shown)))
	first := p.text("#result-id")
	p.until(`document.getElementById("result-id").textContent !== "` + first + `"`)
	p.do(chromedp.Click("#pause"))
	still := p.text("#result-id")
	if got := value[string](p, `new Promise((done) => setTimeout(() => done(document.getElementById("result-id").textContent), 2500))`); got != still {
		t.Errorf("the ID moved from %s to %s after Pause", still, got)
	}
	if got := value[string](p, `location.hash`); strings.Contains(got, "ids=") {
		t.Errorf("the example is linked: %s", got)
	}
}

// If the reader prefers reduced motion, the first ID stays the same.
func TestStartWithReducedMotion(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := start(t, origin)
	features := []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		t.Fatal(err)
	}
	p.visit(origin + "/")
	p.want("#pause", "Continue")
	p.want("#result-place", "an example; it does not move, because your system asks for less motion. Continue shows a new one each second")
	p.do(chromedp.Click("#pause"))
	p.want("#result-place", "an example")
}

// The title of the window names the ID that the reader has entered, so that several tabs can
// be distinguished. The example of the present moment is not in it.
func TestTitleNamesTheID(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	title := func(want string) {
		t.Helper()
		if got := value[string](p, `document.title`); got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
	}
	const plain = "Snowflake ID inspector – gormflake"
	title(plain)
	p.enter("#input", "2124189853926044565")
	title("2124189853926044565 – " + plain)
	p.enter("#input", "no ID here")
	title(plain)
	p.enter("#input", "1541815603606036480 2124189853926044565")
	title("1541815603606036480 – " + plain)
	p.do(chromedp.Click("#clear"))
	title(plain)
}

// The browser loads and draws the icon of the page.
func TestIcon(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	width := value[int](p, `(async () => { const icon = new Image(); icon.src = document.querySelector("link[rel=icon]").href; await icon.decode(); return icon.naturalWidth })()`)
	if width == 0 {
		t.Error("the icon is empty")
	}
}

// Without JavaScript, the page says that it needs JavaScript, and shows no control that would
// do nothing.
func TestWithoutJavaScript(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := start(t, origin)
	if _, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(origin + "/"))
	shown := value[string](p, `[...document.querySelectorAll("input, select, textarea, button, details, [tabindex], a:not([href^=http])")].filter((e) => e.checkVisibility()).map((e) => e.id || e.outerHTML).join(" ")`)
	if shown != "" {
		t.Errorf("without JavaScript, the page shows %s", shown)
	}
	p.wantContains("noscript", "needs JavaScript")
	p.fit("noscript-390", 390)
}

// Each example of the start page shows what its button promises, such as a tweet or a log.
func TestExamplesOfOthers(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	p.do(chromedp.Click(`[data-example="tweet"]`))
	p.wantContains("#sentence", "Made on Tuesday, 28 June 2022, 16:07:40.105 UTC, ")
	p.do(chromedp.Click(`[data-example="discord"]`))
	p.wantContains("#sentence", "Made on Saturday, 30 April 2016, 11:18:25.796 UTC, ")
	p.wantContains("#sentence", "by worker 0 in datacenter 1, with sequence 7.")
	p.until(`location.hash === "#ids=175928847299117063&layout=discord"`)
	p.do(chromedp.Click(`[data-example="safe"]`))
	p.wantContains("#exactness", "so it survives")
	p.do(chromedp.Click(`[data-example="log"]`))
	p.wantContains("#timeline-summary", "240 IDs of 3 workers")
	p.do(chromedp.Click("#clear"))
	p.want("#result-title", "An ID of this moment")
}

// Sonyflake's sequence precedes its machine. The drawing, the table and a link keep this
// order, and so does the layout of Sonyflake's second version, which has another epoch.
func TestSonyflake(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#layout=sonyflake&ids=436207616016842755")
	p.wantContains("#sentence", "by worker 3, with sequence 1.")
	if got := value[string](p, fieldNames); got != "unused time sequence worker" {
		t.Errorf("the drawing names %q", got)
	}
	p.enter("#input", "436207616016842755 436207616016842756")
	if got := value[string](p, `[...document.querySelectorAll("#ids-table tbody td.number:not(.place)")].map((e) => e.textContent).join(" ")`); got != "3 1 4 1" {
		t.Errorf("the table has workers and sequences %q, want 3 1 4 1", got)
	}
	p.enter("#shape-epoch", "2025-01-01")
	p.until(`location.hash.includes("order=sequence.worker")`)
	p.visit(value[string](p, `location.href`))
	p.wantContains("#sentence", "of worker 3, with sequence 1.") // the ID lies years ahead
	p.do(chromedp.Click("#compose"))
	p.do(chromedp.Click("#generated-read"))
	p.wantContains("#sentence", "by worker 0, with sequence 0.")
}

// The fields for the epoch and for the time of a composed ID accept a date, Unix time and
// hex. The browser's date picker writes its choice into the field for the time.
func TestTimesOfFields(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	p.do(chromedp.Click("#shape summary"))
	for _, epoch := range []string{"1420070400000", "0x14aa2cab000", "2015-01-01", "2015-01-01 02:00 +02:00"} {
		p.enter("#layout", "twitter")
		p.enter("#shape-epoch", epoch)
		p.want("#shape-epoch-echo", "= 2015-01-01T00:00:00.000Z")
		p.enter("#input", "175928847299117063")
		p.want("#utc", "2016-04-30T11:18:25.796Z")
	}
	for _, at := range []string{"1462015105796", "0x15466e41b04", "2016-04-30 11:18:25.796"} {
		p.enter("#generate-time", at)
		p.do(chromedp.Click("#compose"))
		p.do(chromedp.Click("#generated-read"))
		p.want("#utc", "2016-04-30T11:18:25.796Z")
	}
	// Set the date as the browser's own picker does.
	value[bool](p, `(() => { const date = document.getElementById("generate-time-date"); date.value = "2016-04-30T11:18:25.796";
		date.dispatchEvent(new Event("input", { bubbles: true })); return true })()`)
	if got := value[string](p, `document.getElementById("generate-time").value`); got != "2016-04-30T11:18:25.796Z" {
		t.Errorf("the picker wrote %q", got)
	}
}
