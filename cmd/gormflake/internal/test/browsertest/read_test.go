package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// layouts are layouts that the page knows, by their names on the page.
var layouts = map[string]snowflake.Layout{
	"twitter": snowflake.TwitterLayout(),
	"js-safe": snowflake.JSSafeLayout(),
	"discord": snowflake.DiscordLayout(),
}

// In each of three layouts, the page recognizes every form of an ID, and shows the same parts
// as Go.
func TestEveryFormIsRead(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for name, layout := range layouts {
		p.enter("#layout", name)
		id := compose(t, layout, time.Hour, 13, 99)
		for _, text := range []string{id.String(), id.Base32(), strings.ToLower(id.Base32()), id.Base58(), id.Base62(), `{"id":"` + id.String() + `"}`} {
			p.enter("#input", text)
			// If the text is valid in several forms, choose this ID.
			value[bool](p, `[...document.querySelectorAll("#readings button")].find((b) => b.textContent.endsWith(": `+id.String()+`"))?.click(), true`)
			p.wantID(layout, id)
		}
	}
}

// wantID checks that the page shows the digits, bits, fields, times and texts of the ID.
func (p page) wantID(layout snowflake.Layout, id types.ID) {
	p.t.Helper()
	if got := p.text("#result-id"); got != id.String() {
		p.t.Fatalf("ID %q, want %v; the error is %q", got, id, p.text("#input-error"))
	}
	parts := layout.Decompose(id)
	p.want("#utc", parts.Time.Format(iso))
	p.want("#unix", strconv.FormatInt(parts.Time.UnixMilli(), 10))
	p.want("#value-worker", strconv.FormatInt(parts.Worker, 10))
	p.want("#value-sequence", strconv.FormatInt(parts.Sequence, 10))
	p.want("#min", layout.Min(parts.Time).String())
	p.want("#max", layout.Max(parts.Time).String())
	p.wantBits(fmt.Sprintf("%064b", int64(id)))
	p.want("#base32", id.Base32())
	p.want("#base58", id.Base58())
	p.want("#base62", id.Base62())
	p.wantContains("#age", "1 h")
	p.wantFormulas(id)
}

// wantFormulas evaluates the formulas that the page shows, and checks their results.
func (p page) wantFormulas(id types.ID) {
	p.t.Helper()
	for _, line := range value[[]string](p, `[...document.querySelectorAll("#drawing .card:has(code)")].flatMap((card) =>
		[...card.querySelectorAll("code")].map((code) => code.textContent.includes("=") ? code.textContent : code.textContent + " = " + card.querySelector(".value").textContent))`) {
		formula, want, _ := strings.Cut(line, " = ")
		if want == "Unix ms" {
			want = p.text("#unix")
		}
		bigints := regexp.MustCompile(`\d+`).ReplaceAllString(formula, "${0}n")
		if got := value[string](p, "String("+strings.ReplaceAll(bigints, "id", id.String()+"n")+")"); got != want {
			p.t.Errorf("%s gives %s for %v, want %s", formula, got, id, want)
		}
	}
}

// wantBits checks the 64 bits in the drawing.
func (p page) wantBits(want string) {
	p.t.Helper()
	if got := value[string](p, `[...document.querySelectorAll("#drawing .bit")].map((e) => e.textContent).join("")`); got != want {
		p.t.Errorf("bits %s, want %s", got, want)
	}
}

// The drawing shows the bits of each field, with a label for screen readers.
func TestBitsOfFields(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#layout=js-safe&ids=54294967296321")
	id, layout := types.ID(54294967296321), snowflake.JSSafeLayout()
	text := fmt.Sprintf("%064b", int64(id))
	from := 0
	for _, field := range []struct {
		name string
		bits int
	}{{"unused", 11}, {"time", 39}, {"worker", 6}, {"sequence", 8}} {
		want := text[from : from+field.bits]
		from += field.bits
		if got := value[string](p, `[...document.querySelectorAll(".part.`+field.name+` .bit")].map((e) => e.textContent).join("")`); got != want {
			t.Errorf("%s: bits %s, want %s", field.name, got, want)
		}
		if label := value[string](p, `document.querySelector(".part.`+field.name+` .bits").ariaLabel`); !strings.HasPrefix(label, field.name) || !strings.HasSuffix(label, want) {
			t.Errorf("the label %q lacks %s and its bits", label, field.name)
		}
	}
	p.want("#utc", layout.Time(id).Format(iso))
	p.wantContains("#exactness", "This ID has 46, so it survives")
	p.want("#times tr:nth-child(4) th", "Lowest ID of these 10 ms")
	p.wantContains("#times tr:nth-child(4) td", "for WHERE id >= …")
}

// The page shows every digit of an ID above 2^53, and how JavaScript would round it as a
// number.
func TestExactAbove53Bits(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/#ids=7529595880471527425")
	p.want("#result-id", "7529595880471527425")
	p.want("#number p:nth-child(2)", "= 7529595880471527000") // as a console prints it
	p.want("#number mark", "000")
	p.wantContains("#exactness", "This ID has 63, and is rounded to another ID")
	p.enter("#input", "7529595880471527424")
	p.wantContains("#exactness", "the number is exact, but written with other digits")
	p.enter("#input", "7529595880471527000")
	p.want("#number p:nth-child(2)", "= 7529595880471527000")
	p.wantContains("#exactness", "the next ID, 7529595880471527001, becomes 7529595880471527000")
	p.enter("#input", "9223372036854775807")
	p.want("#result-id", "9223372036854775807")
	p.wantBits("0" + strings.Repeat("1", 63))
	p.wantContains("#result-doubt", "more than a day ahead")
}

// If a text is valid in two forms, the page shows both.
func TestAmbiguousText(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	const text = "kVw2Mt8RzB"
	p.enter("#input", text)
	for form, parse := range map[string]func(string) (types.ID, error){"base58": types.ParseBase58, "base62": types.ParseBase62} {
		id, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p.do(chromedp.Click(`#readings [data-form="` + form + `"]`))
		p.want("#result-id", id.String())
		p.want(`#readings [aria-pressed="true"]`, "as "+form+": "+id.String())
	}
	p.enter("#form", "base62")
	if value[bool](p, `!document.getElementById("readings").hidden`) {
		t.Error("readings are offered for a form that was chosen")
	}
}

// A message next to the field explains the mistake and the expected input.
func TestMistakesAreExplained(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for text, want := range map[string]string{
		"007":                     "starts with its zero",
		"9223372036854775808":     "want at most 9223372036854775807",
		"hello-world":             "want up to 19 digits",
		"no ID here, not even 12": "no ID found",
	} {
		p.enter("#input", text)
		p.wantContains("#input-error", want)
		if value[bool](p, `!document.getElementById("result").hidden || document.getElementById("input").ariaInvalid !== "true"`) {
			t.Errorf("%q: the last ID is still shown, or the field not marked", text)
		}
	}
	p.enter("#input", "1")
	p.want("#input-error", "")
	p.enter("#shape-totalBits", "10")
	p.wantContains("#shape-totalBits-error", "want at least one left for time")
	p.enter("#shape-epoch", "yesterday")
	p.wantContains("#shape-epoch-error", "want one such as")
}

// The address contains the shown IDs and the layout, including a custom layout.
func TestInspectionCanBeLinked(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := open(t, origin, "/")
	p.enter("#layout", "discord")
	p.enter("#shape-tick", "1000")
	p.wantContains("#shape-epoch-error", "") // a whole second
	p.enter("#shape-workerBits", "9")
	p.enter("#input", "175928847299117063")
	want := p.text("#utc")
	p.until(`location.hash.includes("175928847299117063") && location.hash.includes("bits=5.9.12.63")`)

	p.visit(value[string](p, `location.href`))
	p.want("#utc", want)
	p.want("#result-id", "175928847299117063")
	if got := value[string](p, `document.getElementById("layout").value + document.getElementById("shape-workerBits").value`); got != "custom9" {
		t.Errorf("layout %s, want custom9", got)
	}
	// Follow a link within the page.
	value[bool](p, `(location.hash = "#layout=twitter&ids=`+url.QueryEscape("1 2 3")+`", true)`)
	p.until(`document.getElementById("timeline-summary").textContent.startsWith("3 IDs")`)
}

// An ID has another time under another layout. If the layout of a link is invalid, the page
// therefore does not decode the ID, explains why, and waits until the reader chooses a layout.
func TestLinkWhoseLayoutCannotBeRead(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := open(t, origin, "/")
	const discord = "ids=175928847299117063&" // of 30 April 2016
	for link, want := range map[string]string{
		"layout=custom&epoch=x&tick=1&bits=5.5.12.63":                     `epoch "x"`,
		"layout=custom&epoch=2015-01-01T00:00:00Z&tick=1&bits=99":         `bits "99"`,
		"layout=custom&epoch=2015-01-01T00:00:00Z&tick=x&bits=5.5.12.63":  `tick "x"`,
		"layout=custom&epoch=2015-01-01T00:00:00Z&tick=1&bits=9.50.12.63": "take 71 of 63 bits",
		"layout=custom":            "epoch: missing",
		"layout=mastodon":          `layout "mastodon"`,
		"layout=service":           "this page has no service",
		"layout=twitter&as=base64": `as "base64"`,
	} {
		p.visit(origin + "/#" + discord + link)
		p.wantContains("#link-problem", want)
		if value[bool](p, `!document.getElementById("result").hidden`) {
			t.Errorf("%s: an ID is shown, of %s", link, p.text("#utc"))
		}
		// The address does not change, so that the reader can correct it.
		if got := value[string](p, `new Promise((done) => setTimeout(() => done(location.hash), 400))`); got != "#"+discord+link {
			t.Errorf("the address became %s", got)
		}
	}
	p.visit(origin + "/#" + discord + "layout=mastodon")
	p.enter("#layout", "discord")
	p.want("#utc", "2016-04-30T11:18:25.796Z")
	p.want("#link-problem", "")
	p.until(`location.hash === "#ids=175928847299117063&layout=discord"`)
	// A link without a layout uses the default layout of the page.
	p.visit(origin + "/#" + discord)
	p.want("#utc", "2012-03-03T13:01:20.453Z")
}

// The page reads IDs from a file that the reader opens or drops on the page.
func TestFileIsOpened(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	id := compose(t, snowflake.TwitterLayout(), time.Minute, 3, 1)
	path := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(path, []byte("status=200 order="+id.String()+" saved\nstatus=200 order="+(id+1).String()+" saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.SetUploadFiles("#file", []string{path}))
	p.until(`!document.getElementById("timeline").hidden`)
	p.wantContains("#timeline-summary", "2 IDs of 1 worker")
	p.want("#result-id", id.String())
	p.until(`document.getElementById("file").value === ""`) // so that the same file can be opened again
	p.do(chromedp.Click("#clear"))
	if value[bool](p, `!document.getElementById("timeline").hidden`) {
		t.Error("the timeline is still there")
	}

	// Drop a file on the page.
	value[bool](p, `(() => { const data = new DataTransfer();
		data.items.add(new File(["id=`+id.String()+`\n"], "other.txt"));
		document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); return true })()`)
	p.until(`!document.getElementById("result").hidden`)
	p.want("#result-id", id.String())
}

// The address contains only the IDs that were found, because the rest of the text may be
// private.
func TestOnlyIDsAreLinked(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for _, c := range []struct{ name, text, want string }{
		{"one ID", "1541815603606036480", "#ids=1541815603606036480&layout=twitter"},
		{"only IDs", "5, 6", "#ids=5%2C+6&layout=twitter"},
		{"one in a text", "call 0170-1234567 about 1541815603606036480", "#ids=1541815603606036480&layout=twitter"},
		{"two in a text", "1541815603606036480 of Anna, 1541815603606036481 of Ben", "#ids=1541815603606036480+1541815603606036481&layout=twitter"},
		{"one in base 58", "saved for Anna: kVw2Mt8RzB", "#ids=kVw2Mt8RzB&as=base58&layout=twitter"},
		{"one many times", strings.Repeat("1541815603606036480 ", 200), "#ids=1541815603606036480&layout=twitter"},
		{"no ID", "call 0170-1234567", "#layout=twitter"},
	} {
		p.enter("#input", c.text)
		shown := p.text("#result-id")
		if got := value[string](p, `new Promise((done) => setTimeout(() => done(location.hash), 400))`); got != c.want {
			t.Errorf("%s: the address is %s, want %s", c.name, got, c.want)
		}
		if c.name == "no ID" {
			continue
		}
		p.visit(value[string](p, `location.href`))
		p.want("#result-id", shown)
		p.enter("#form", "auto")
	}
	p.wantContains("footer", "The address of this page holds the IDs, so a shared link shows them.")
}

// If a link would be too long, it contains no IDs, and the page says so.
func TestTooManyIDsForALink(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	p.do(chromedp.Click(`[data-example="log"]`))
	p.wantContains("#timeline-summary", "; too many IDs for a link: it opens the page without them")
	p.enter("#input", "5 6")
	p.want("#timeline-summary", "2 IDs of 1 worker over 0 ms")
}

// For a text that resembles an ID, the page explains the difference.
func TestNearlyIDs(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	lowest := func(day, hour int) string {
		return snowflake.TwitterLayout().Min(time.Date(2025, time.March, day, hour, 0, 0, 0, time.UTC)).String()
	}
	for text, want := range map[string]string{
		"1,541,815,603,606,136,480": `"1,541,815,603,606,136,480" has thousands separators: want 1541815603606136480`,
		"1 541 815 603 606 136 480": `"1 541 815 603 606 136 480" has thousands separators: want 1541815603606136480`,
		"1.54181560360604E+18":      `"1.54181560360604E+18" has lost digits: want all of them, from where the ID is a text`,
		"hello-world":               `"hello-world" is not an ID: want up to 19 digits, or base 32, 58 or 62`,
		"2025-03-01":                `"2025-03-01" is a time, not an ID; the lowest ID of it: ` + lowest(1, 0),
		"2025-03-01 10:00":          `"2025-03-01 10:00" is a time, not an ID; the lowest ID of it: ` + lowest(1, 10),
		"2001-03-01":                `"2001-03-01" is a time, not an ID`,
		"order 1234567":             "no ID found: want decimal IDs, in a text of at least 17 digits; base 32, 58 or 62; or serial numbers of this layout",
	} {
		p.enter("#input", text)
		p.want("#input-error", want)
	}
}
