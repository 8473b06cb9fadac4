package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gormflake/gormflake/serial"
	"github.com/gormflake/gormflake/snowflake"
)

// newSerials returns the format of serial numbers of the layout with the code.
func newSerials(t *testing.T, code string, l snowflake.Layout, opts ...serial.Option) *serial.Format {
	t.Helper()
	format, err := serial.New(code, l, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return format
}

// The page reads a serial number with any code.
func TestSerialIsRead(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	for name, layout := range layouts {
		p.enter("#layout", name)
		id := compose(t, layout, time.Hour, 13, 99)
		for _, format := range []*serial.Format{newSerials(t, "PAY", layout), newSerials(t, "R2", layout, serial.WithSeparator("-")), newSerials(t, "7", layout)} {
			text := format.Format(id)
			p.enter("#input", text)
			p.wantID(layout, id)
			p.want("#serial", text)
			p.want("#result-place", "read as serial")
		}
	}
}

// With a code, the page shows the serial number of each ID. An invalid code is explained.
func TestSerialOfCode(t *testing.T) {
	t.Parallel()
	origin := serve(t)
	p := open(t, origin, "/#layout=js-safe&ids=54294967296321")
	if value[bool](p, `document.getElementById("serial") !== null`) {
		t.Error("a serial number is shown without a code")
	}
	layout := snowflake.JSSafeLayout()
	p.enter("#code", "PAY")
	p.want("#serial", newSerials(t, "PAY", layout).Format(54294967296321))
	p.enter("#code", "PAY.")
	want := newSerials(t, "PAY", layout, serial.WithSeparator(".")).Format(54294967296321)
	p.want("#serial", want)
	p.until(`location.hash.includes("code=PAY.")`)
	p.visit(value[string](p, `location.href`))
	p.want("#serial", want)
	p.enter("#code", "pay")
	p.wantContains("#code-error", `code "pay": want 1 to 32 of A-Z and 0-9`)
	if value[bool](p, `document.getElementById("serial") !== null`) {
		t.Error("a serial number is shown for a wrong code")
	}
	p.enter("#code", "")
	p.want("#code-error", "")
}

// The page explains why a text is not a serial number of the layout.
func TestSerialMistakes(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	p.enter("#form", "serial")
	for text, want := range map[string]string{
		"PAY2022022916074010511260000": "day 29 out of range [1, 28]",
		"PAY2022062816074010511320000": "worker 32 out of range [0, 31]",
		"pay2022062816074010511260000": "want CODE0000000000000000000000000 or CODE-00000000000000000-00-00-0000",
		"PAY2010110401425465600000000": "time 2010-11-04T01:42:54.656Z out of range [2010-11-04T01:42:54.657Z, 2080-07-10T17:30:30.209Z)",
	} {
		p.enter("#input", text)
		p.wantContains("#input-error", want)
	}
	// If a serial number belongs to another layout, the page names that layout.
	p.enter("#form", "auto")
	p.enter("#input", "R22194031803285887063255")
	p.wantContains("#input-error", "it is a serial number of the layout js-safe")
}

// The page finds serial numbers of several codes, and IDs, in a log.
func TestSerialsInLog(t *testing.T) {
	t.Parallel()
	p := open(t, serve(t), "/")
	layout := snowflake.TwitterLayout()
	id := compose(t, layout, time.Hour, 3, 1)
	payments, refunds := newSerials(t, "PAY", layout, serial.WithSeparator("-")), newSerials(t, "REF", layout)
	var log strings.Builder
	fmt.Fprintf(&log, "2026-03-01T11:00:00.123Z INFO paid %s, status=200\n", payments.Format(id))
	fmt.Fprintf(&log, "2026-03-01T11:00:00.124Z INFO refunded number=%q order=%d.\n", refunds.Format(id+1), id+2)
	p.enter("#input", log.String())
	p.wantContains("#timeline-summary", "3 IDs of 1 worker")
	p.want("#serial", payments.Format(id))
	p.do(chromedp.Focus("#strip"))
	p.press(kb.ArrowRight)
	p.want("#serial", refunds.Format(id+1))
	p.press(kb.ArrowRight)
	p.want("#result-id", (id + 2).String())
	if value[bool](p, `document.getElementById("serial") !== null`) {
		t.Error("a plain ID has a serial number without a code")
	}
}
