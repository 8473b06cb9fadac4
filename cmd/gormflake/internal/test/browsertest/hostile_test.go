package browsertest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/snowflake"
)

// markup changes the title of the page if the page runs it.
const markup = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`

// The page shows markup in pasted text, links and file names as text, and never runs it.
func TestMarkupStaysText(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := open(t, origin, "/#ids="+url.QueryEscape(markup)+"&as="+url.QueryEscape(markup)+"&code="+url.QueryEscape(markup)+"&layout="+url.QueryEscape(markup))
	p.wantContains("#link-problem", "<img src=x")
	p.enter("#layout", "twitter")
	p.enter("#input", `"`+markup+`"`)
	p.wantContains("#input-error", "no ID found")
	p.enter("#input", "<b>x</b>")
	p.wantContains("#input-error", "<b>x</b>")
	p.wantContains("#code-error", "<img src=x")
	p.enter("#shape-epoch", markup)
	p.wantContains("#shape-epoch-error", "<img src=x")
	p.enter("#shape-tick", markup)
	p.enter("#generate-time", markup)
	p.do(chromedp.Click("#compose"))
	p.wantContains("#generate-time-error", "<img src=x")
	quoted, err := json.Marshal(markup)
	if err != nil {
		t.Fatal(err)
	}
	value[bool](p, `(() => { const data = new DataTransfer(); data.items.add(new File(["2032119384791810048 " + `+string(quoted)+`], `+string(quoted)+`));
		document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); return true })()`)
	p.until(`!document.getElementById("result").hidden`)
	if value[bool](p, `document.title === "run" || document.querySelector("img, main script, main b:not(.ink)") !== null`) {
		t.Error("markup became part of the page")
	}
}

// After a link whose fragment is malformed, very long or names a property of JavaScript's
// objects, the page still reads IDs.
func TestHostileLinks(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := open(t, origin, "/")
	for _, fragment := range []string{
		"%", "%E0%A4%A", "ids=%00%FF", "layout=__proto__&as=constructor", "layout=service&ids=5",
		"layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=" + strings.Repeat("9", 100_000),
		"ids=" + strings.Repeat("A", 100_000), "ids=" + strings.Repeat("9", 100_000), "ids=" + strings.Repeat("0-", 100_000),
		"layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=1&ids=1+9223372036854775806",
	} {
		p.visit(origin + "/#" + fragment)
		p.enter("#layout", "twitter")
		p.enter("#form", "auto")
		p.enter("#input", "2032119384791810048")
		p.want("#result-id", "2032119384791810048")
	}
}

// The timeline shows two IDs that are 292 million years apart. So far from the first ID, a
// float64 cannot represent single milliseconds. Zooming in a hundred times at the second ID
// must still end, and the page must show the exact time of this ID.
func TestZoomFarFromTheStart(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=1&ids=1+9223372036854775806")
	p.wantContains("#timeline-summary", "2 IDs of 1 worker over 292271023 y")
	p.want("#utc", "1970-01-01T00:00:00.001Z")
	value[bool](p, `(() => { const strip = document.getElementById("strip"), press = (key) => strip.dispatchEvent(new KeyboardEvent("keydown", { key }));
		press("End"); for (let i = 0; i < 100; i++) press("+"); press("Home"); press("End"); return true })()`)
	p.want("#utc", "292278994-08-17T07:12:55.806Z")
	p.wantContains("#shape-text", "runs out 2262-04-11")
}

// The example is an ID of the layout even if the layout starts in the future or has expired.
func TestExampleOfOtherTimes(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := open(t, origin, "/")
	for link, want := range map[string]string{
		"epoch=2200-01-01T00:00:00Z&tick=1&bits=5.5.12.63":   "2200-01-01T00:00:00.000Z",
		"epoch=1980-01-01T00:00:00Z&tick=1000&bits=0.5.5.20": "1980-01-01T00:17:03.000Z",
	} {
		p.visit(origin + "/#layout=custom&" + link)
		p.do(chromedp.Click("#example"))
		p.want("#utc", want)
	}
}

// The page reports a file that cannot be read, for example a folder.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	value[bool](p, `(() => { const data = new DataTransfer(), file = new File(["x"], "folder");
		file.text = () => Promise.reject(new Error("it is a folder"));
		data.items.add(file);
		const event = new DragEvent("drop", { bubbles: true, cancelable: true });
		Object.defineProperty(event, "dataTransfer", { value: { files: [file] } });
		document.body.dispatchEvent(event); return true })()`)
	p.until(`document.getElementById("input-error").textContent === "folder cannot be read: it is a folder"`)
}

// The page accepts up to 200,000 IDs, even if each ID has a different worker, and leaves
// out the rest.
func TestHundredThousand(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	const lines = `Array.from({ length: %d }, (_, i) => %s).join("\n")`
	for _, c := range []struct{ name, layout, lines, want string }{
		{"list", "twitter", fmt.Sprintf(lines, 100_000, "`${2000000000000000000n + BigInt(i) * 7654321987n}`"), "100,000 IDs of 1,024 workers"},
		{"log", "twitter", fmt.Sprintf(lines, 100_000, "`2026-03-01T11:00:00.123Z INFO order=${2000000000000000000n + BigInt(i) * 7654321n} status=200 took=1.25ms`"), "100,000 IDs of"},
		{"a worker each", "custom", fmt.Sprintf(lines, 130_000, "`${(1n << 60n) + BigInt(i)}`"), "130,000 IDs of 130,000 workers"},
		{"too many", "twitter", fmt.Sprintf(lines, 250_000, "`${2000000000000000000n + BigInt(i) * 7654321n}`"), "these are the first 200,000, and what follows them is left out"},
	} {
		if c.layout == "custom" {
			p.enter("#shape-datacenterBits", "0")
			p.enter("#shape-sequenceBits", "0")
			p.enter("#shape-workerBits", "20")
		} else {
			p.enter("#layout", c.layout)
		}
		took := value[float64](p, `(() => { const data = new DataTransfer(); data.setData("text", `+c.lines+`);
			const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
			const start = performance.now(); document.getElementById("input").dispatchEvent(event); return performance.now() - start })()`)
		p.wantContains("#timeline-summary", c.want)
		step := value[float64](p, `(() => { const start = performance.now(), strip = document.getElementById("strip");
			for (const key of ["ArrowRight", "+", "End"]) strip.dispatchEvent(new KeyboardEvent("keydown", { key })); return (performance.now() - start) / 3 })()`)
		t.Logf("%s: shown in %.0f ms, a key in %.0f ms", c.name, took, step)
		if got := value[string](p, `document.getElementById("input").value + document.getElementById("input").placeholder`); !strings.HasPrefix(got, "pasted text, ") {
			t.Errorf("%s: the field shows %.60q", c.name, got)
		}
		p.do(chromedp.Click("#clear"))
	}
}

// When clocks are set back, an hour occurs twice. The local time shows its offset from
// UTC, so that it is unambiguous.
func TestLocalTime(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := start(t, origin)
	if _, err := chromedp.Call(p.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"}); err != nil {
		t.Fatal(err)
	}
	layout := snowflake.TwitterLayout()
	for at, want := range map[string]string{
		"2026-11-01T05:30:00.123Z": "2026-11-01 01:30:00.123 -04:00",
		"2026-11-01T06:30:00.123Z": "2026-11-01 01:30:00.123 -05:00",
		"2026-03-08T07:00:00.000Z": "2026-03-08 03:00:00.000 -04:00",
	} {
		instant, err := time.Parse(iso, at)
		if err != nil {
			t.Fatal(err)
		}
		p.visit(origin + "/#ids=" + layout.Min(instant).String())
		p.want("#utc", at)
		p.want("#local", want)
	}
}
