package browsertest

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// column returns the texts of a column on the current page of the table of IDs.
func (p page) column(n int) []string {
	p.t.Helper()
	return value[[]string](p, fmt.Sprintf(`[...document.querySelectorAll("#ids-table tbody tr > :nth-child(%d)")].map((e) => e.textContent)`, n))
}

// The table lists every ID, 20 on a page, in the order of time. A click on a column sorts the
// table by this column, and a second click reverses the order.
func TestTableOfIDs(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	ids, log := thousandIDs(t)
	lines := strings.Split(strings.TrimSpace(log), "\n")
	lines[0], lines[999] = lines[999], lines[0] // not in the order of time
	p.enter("#input", strings.Join(lines, "\n"))
	p.want("#ids-page", "1 to 20 of 1,000")
	if got := p.column(2); len(got) != 20 || got[0] != ids[0].String() || got[19] != ids[19].String() {
		t.Errorf("the first page has %q", got)
	}
	if got := p.column(1); got[0] != "1000" || got[1] != "2" {
		t.Errorf("places %q, want those in the text", got)
	}
	p.do(chromedp.Click("#ids-next"))
	p.want("#ids-page", "21 to 40 of 1,000")
	if got := p.column(2); got[0] != ids[20].String() {
		t.Errorf("the second page begins with %s, want %v", got[0], ids[20])
	}
	for _, c := range []struct {
		name, first, second string // name of the column, its smallest and its largest value
		n                   int    // position of the column
	}{{"place", "1", "1000", 1}, {"time", "2026-03-04T05:06:07.020Z", "2026-03-04T05:07:27.000Z", 3}, {"worker", "2", "19", 5}, {"sequence", "0", "4", 6}} {
		p.do(chromedp.Click(`[data-column="` + c.name + `"]`))
		if got := p.column(c.n)[0]; got != c.first && got != c.second {
			t.Errorf("%s: %s comes first, want %s or %s", c.name, got, c.first, c.second)
		}
		before := p.column(c.n)[0]
		p.do(chromedp.Click(`[data-column="` + c.name + `"]`))
		if got := p.column(c.n)[0]; got == before || got != c.first && got != c.second {
			t.Errorf("%s the other way: %s comes first, want %s or %s", c.name, got, c.first, c.second)
		}
	}
	// A click on an ID decodes it, within the visible part of the page.
	want := p.column(2)[3]
	p.do(chromedp.Click("#ids-table tbody tr:nth-child(4) button"))
	p.want("#result-id", want)
	p.want(`#ids-table [aria-current] button`, want)
	p.until(`document.getElementById("result-id").getBoundingClientRect().top >= 0`)
	if value[bool](p, `document.getElementById("result").getBoundingClientRect().bottom > document.getElementById("timeline-workers").getBoundingClientRect().top`) {
		t.Error("the table of workers stands above the selected ID")
	}
}

// A range of the timeline, selected by the pointer or by keys, filters the table and the
// exports.
func TestRangeFiltersTheTable(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	ids, log := thousandIDs(t)
	p.enter("#input", log)
	// Drag from within the gap of a minute to the left edge.
	x, y := p.stripAt(20, 90)
	right, _ := p.stripAt(-300, 90)
	for _, event := range []struct {
		kind input.DispatchMouseEventType
		x    float64
	}{{input.DispatchMouseEventTypeMousePressed, right}, {input.DispatchMouseEventTypeMouseMoved, (x + right) / 2}, {input.DispatchMouseEventTypeMouseMoved, x}, {input.DispatchMouseEventTypeMouseReleased, x}} {
		p.do(chromedp.MouseEvent(event.kind, event.x, y, chromedp.Button("left")))
	}
	p.wantContains("#ids-summary", "600 of 1,000")
	p.want("#ids-page", "1 to 20 of 600")
	p.want("#result-id", ids[0].String()) // a drag is not a click
	if got := p.exported("ids-json"); len(got) != 600 || got[599].ID != ids[599] {
		t.Errorf("%d IDs are exported, want the 600 that are selected", len(got))
	}
	p.do(chromedp.Click("#ids-all"))
	p.want("#ids-page", "1 to 20 of 1,000")
	p.do(chromedp.Focus("#strip"))
	p.press(kb.ArrowRight)
	for range 3 {
		p.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	}
	p.wantContains("#ids-summary", "4 of 1,000")
	if got := p.column(2); len(got) != 4 || got[0] != ids[1].String() || got[3] != ids[4].String() {
		t.Errorf("Shift selected %q", got)
	}
	p.press(kb.Escape)
	p.want("#ids-summary", "")
}

// An exportedID is an ID as the page exports it. Text is the ID as it was in the input.
type exportedID struct {
	ID                           types.ID
	Time                         string
	Datacenter, Worker, Sequence int64
	Text                         string
}

// exportedText presses the button, and returns the content of the file that the browser would
// save.
func (p page) exportedText(button string) string {
	p.t.Helper()
	return value[string](p, `(async () => {
		const create = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
		let saved;
		URL.createObjectURL = (blob) => { saved = blob; return create.call(URL, blob) };
		HTMLAnchorElement.prototype.click = function () { if (!this.download || !this.href.startsWith("blob:")) throw new Error("no file") };
		document.getElementById("`+button+`").click();
		[URL.createObjectURL, HTMLAnchorElement.prototype.click] = [create, click];
		return saved.text();
	})()`)
}

// exported returns the IDs of the JSON file that the button saves.
func (p page) exported(button string) []exportedID {
	p.t.Helper()
	var ids []exportedID
	if err := json.Unmarshal([]byte(p.exportedText(button)), &ids); err != nil {
		p.t.Fatal(err)
	}
	return ids
}

// CSV and JSON contain exactly the parts that Go reads from each ID.
func TestExport(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	ids, log := thousandIDs(t)
	p.enter("#input", log)
	layout := snowflake.TwitterLayout()
	list := p.exported("ids-json")
	rows, err := csv.NewReader(strings.NewReader(p.exportedText("ids-csv"))).ReadAll()
	if err != nil || len(rows) != 1001 || len(list) != 1000 {
		t.Fatalf("%d rows and %d records, %v", len(rows), len(list), err)
	}
	if got := strings.Join(rows[0], ","); got != "id,time,datacenter,worker,sequence,text" {
		t.Errorf("the first row is %s", got)
	}
	for i, id := range ids {
		parts := layout.Decompose(id)
		want := exportedID{id, parts.Time.Format(iso), parts.Datacenter, parts.Worker, parts.Sequence, id.String()}
		if list[i] != want {
			t.Fatalf("JSON: %+v, want %+v", list[i], want)
		}
		fields := []string{want.Text, want.Time, strconv.FormatInt(want.Datacenter, 10), strconv.FormatInt(want.Worker, 10), strconv.FormatInt(want.Sequence, 10), want.Text}
		if got, want := strings.Join(rows[i+1], ","), strings.Join(fields, ","); got != want {
			t.Fatalf("CSV: %s, want %s", got, want)
		}
	}
}

// On a phone, the ID and its time are visible without scrolling.
func TestTableOnATelephone(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	_, log := thousandIDs(t)
	p.enter("#input", log)
	p.fit("table-375", 375)
	const cutPixels = `(() => { const cell = document.querySelector("#ids-table tbody .when"), text = document.createRange();
		text.selectNodeContents(cell);
		return Math.round(text.getBoundingClientRect().right - cell.closest(".scroll").getBoundingClientRect().right) })()`
	if got := value[int](p, cutPixels); got > 0 {
		t.Errorf("the time is cut by %d pixels", got)
	}
	if got := value[int](p, `Math.round(document.querySelector("#ids-table tbody .when").getBoundingClientRect().height)`); got > 60 {
		t.Errorf("the time takes %d pixels, want the height of two lines", got)
	}
	p.do(chromedp.EmulateViewport(1280, 800))
	if value[bool](p, `document.querySelector("#ids-table tbody .when").getBoundingClientRect().height > 40`) {
		t.Error("the time wraps where there is room")
	}
}
