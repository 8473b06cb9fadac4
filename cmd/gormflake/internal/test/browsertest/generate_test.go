package browsertest

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/snowflake"
)

// From the same parts, the page composes the same IDs as Go. When the sequence of a tick is
// full, the page continues in the next tick. It warns the reader that these IDs are not
// unique keys.
func TestExamplesAreComposed(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	layout := snowflake.TwitterLayout()
	at := time.Date(2026, time.January, 2, 3, 4, 5, 678e6, time.UTC)
	p.enter("#generate-datacenter", "3")
	p.enter("#generate-worker", "31")
	p.enter("#generate-sequence", "4094")
	p.enter("#generate-time", at.Format(iso))
	p.enter("#generate-count", "4")
	p.enter("#generate-form-name", "base58")
	p.do(chromedp.Click("#compose"))

	var want []string
	for _, parts := range []snowflake.Parts{
		{Time: at, Datacenter: 3, Worker: 31, Sequence: 4094},
		{Time: at, Datacenter: 3, Worker: 31, Sequence: 4095},
		{Time: at.Add(time.Millisecond), Datacenter: 3, Worker: 31},
		{Time: at.Add(time.Millisecond), Datacenter: 3, Worker: 31, Sequence: 1},
	} {
		id, err := layout.Compose(parts)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, id.Base58())
	}
	if got := value[string](p, `document.getElementById("generated-ids").value`); got != strings.Join(want, "\n") {
		t.Errorf("composed %q, want %q", got, want)
	}
	p.wantContains("#generated-label", "not unique keys")
	p.do(chromedp.Click("#generated-read"))
	p.wantContains("#timeline-summary", "4 IDs of 1 worker")
	p.want("#utc", at.Format(iso))
	p.want("#value-worker", "31")
}

// Each wrong part of an ID is explained beside its field, and no ID is composed.
func TestMistakesInPartsAreExplained(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for _, c := range []struct{ field, text, want string }{
		{"datacenter", "32", "datacenter 32 out of range [0, 31]"},
		{"worker", "-1", `unexpected "-"`},
		{"sequence", "4096", "sequence 4096 out of range [0, 4095]"},
		{"time", "2010-01-01T00:00:00Z", "out of range"},
		{"time", "tomorrow", "want one such as"},
		{"count", "1001", "want 1 to 1,000"},
	} {
		field := "#generate-" + c.field
		good := value[string](p, `document.querySelector("`+field+`").value`)
		p.enter(field, c.text)
		p.do(chromedp.Click("#compose"))
		p.wantContains(field+"-error", c.want)
		if value[bool](p, `!document.getElementById("generated").hidden`) {
			t.Errorf("%s %q: IDs are shown", c.field, c.text)
		}
		p.enter(field, good)
	}
	p.do(chromedp.Click("#compose"))
	p.wantContains("#generated-label", "not a unique key")
}

// The page removes composed IDs when the form or the layout changes, because they would
// contradict what the form shows.
func TestComposedGoesWithItsForm(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for name, edit := range map[string]func(){
		"time":           func() { p.enter("#generate-time", "2025-03-02") },
		"wrong time":     func() { p.enter("#generate-time", "soon") },
		"layout":         func() { p.enter("#layout", "discord") },
		"wrong layout":   func() { p.enter("#shape-tick", "x") },
		"an example":     func() { p.do(chromedp.Click(`[data-example="discord"]`)) },
		"link elsewhere": func() { value[bool](p, `(location.hash = "#ids=5&layout=mastodon", true)`) },
	} {
		p.enter("#layout", "twitter")
		p.enter("#generate-time", "2025-03-01")
		p.do(chromedp.Click("#compose"))
		p.until(`!document.getElementById("generated").hidden`)
		p.want("#generated-read", "Take it apart")
		edit()
		if value[bool](p, `new Promise((done) => setTimeout(() => done(!document.getElementById("generated").hidden), 100))`) {
			t.Errorf("%s: what was composed before is still shown", name)
		}
	}
}
