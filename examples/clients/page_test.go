package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testbrowser"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestPage checks that the page keeps every digit in strings and BigInt, and marks the digits
// that numbers lose.
func TestPage(t *testing.T) {
	t.Parallel()
	testserver.Program(t, "chromium")
	ids, orders := newFront(t, startService(t), nil), newFront(t, startOrders(t), nil)
	p := open(t, startPage(t, ids.URL, orders.URL))

	p.wantVerdict("good", "Strings and BigInt lost no digit.")
	rows := value[[]row](p, tableRows)
	wantRows(t, rows, ids, orders)
	wantCrowd(t, value[string](p, `document.getElementById("crowd").textContent`))
	p.wantMarks(rows)
	p.fit("desktop", 1280)
	p.fit("phone", 360)
	p.wantQuiet(rows)
}

// TestPageShowsLostDigits checks that the page notices a service that changes a digit of an
// ID in its answer.
func TestPageShowsLostDigits(t *testing.T) {
	t.Parallel()
	testserver.Program(t, "chromium")
	ids := newFront(t, startService(t), otherID)
	p := open(t, startPage(t, ids.URL, startOrders(t)))
	p.wantVerdict("bad", "as a string was sent as")
}

// TestPageWithoutServer checks that the page names the server that does not answer.
func TestPageWithoutServer(t *testing.T) {
	t.Parallel()
	testserver.Program(t, "chromium")
	gone := unusedAddress(t)
	p := open(t, startPage(t, gone, startOrders(t)))
	p.wantVerdict("bad", "/v1/ids?count=200: 502, "+gone+" does not answer")
}

// unusedAddress returns an address on which no server listens, and which no other test gets.
func unusedAddress(t *testing.T) string {
	t.Helper()
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// wantCrowd checks that the page counts fewer than 200 JavaScript numbers for 200 IDs that were
// issued at once, because neighbouring IDs round to the same number.
func wantCrowd(t *testing.T, text string) {
	t.Helper()
	m := regexp.MustCompile(`200 IDs taken at once are 200 different strings and (\d+) different numbers\.`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q does not say how many numbers 200 IDs are", text)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n >= 200 {
		t.Errorf("200 IDs are %s numbers, want fewer", m[1])
	}
}

// tableRows evaluates to the rows of the page's tables.
const tableRows = `[...document.querySelectorAll("tbody tr")].map((tr) => ({
	ID: tr.closest("table").querySelector("caption .digits").textContent,
	Way: tr.cells[0].textContent, Sent: tr.cells[1].textContent, Note: tr.cells[2].textContent }))`

// page is a page in the browser. Its methods end the test when they fail.
type page struct {
	t       *testing.T
	ctx     context.Context
	address string
	console *consoleLog
}

// consoleLog contains the messages on the console.
type consoleLog struct {
	mu  sync.Mutex
	all []string
}

// add records a message on the console, an exception, or an entry of the browser's log.
func (m *consoleLog) add(event any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch event := event.(type) {
	case *cdpruntime.EventConsoleAPICalled:
		m.all = append(m.all, fmt.Sprintf("console.%s", event.Type))
	case *cdpruntime.EventExceptionThrown:
		m.all = append(m.all, fmt.Sprintf("exception: %+v", event.ExceptionDetails))
	case *log.EventEntryAdded:
		m.all = append(m.all, fmt.Sprintf("%s: %s", event.Entry.Text, event.Entry.URL))
	}
}

// wantQuiet checks that the console shows only Chromium's own messages about the numbers for
// which the API has no order. If there are such numbers, at least one message must be there,
// because otherwise the test would not see other messages either.
func (p page) wantQuiet(rows []row) {
	p.t.Helper()
	p.console.mu.Lock()
	defer p.console.mu.Unlock()
	allowed := map[string]bool{}
	for _, r := range rows {
		if _, refused, _ := strings.Cut(r.Note, "404, there is no order "); refused != "" {
			allowed["/orders/"+refused] = true
		}
	}
	seen := 0
	for _, message := range p.console.all {
		text, path, _ := strings.Cut(message, " "+p.address)
		if !strings.Contains(text, "responded with a status of 404") || !allowed[path] {
			p.t.Errorf("the console shows %s", message)
			continue
		}
		seen++
	}
	if len(allowed) > 0 && seen == 0 {
		p.t.Error("the console shows nothing, not even the 404 of a number")
	}
}

// do runs the actions one after another.
func (p page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// value returns the value of an expression of JavaScript on the page.
func value[T any](p page, expression string) T {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// wantVerdict waits until the page is done and its button works again, and checks the
// verdict.
func (p page) wantVerdict(class, want string) {
	p.t.Helper()
	for !value[bool](p, `document.getElementById("outcome").className !== "" && !document.getElementById("run").disabled`) {
		select {
		case <-p.ctx.Done():
			p.t.Fatal("the page is never done")
		case <-time.After(20 * time.Millisecond):
		}
	}
	got := value[[]string](p, `[document.getElementById("outcome").className, document.getElementById("outcome").textContent]`)
	if got[0] != class || !strings.Contains(got[1], want) {
		p.t.Errorf("outcome %q, want %s with %q", got, class, want)
	}
}

// wantMarks checks that as many digits are marked as are wrong.
func (p page) wantMarks(rows []row) {
	p.t.Helper()
	marks := value[[]int](p, `[...document.querySelectorAll("tbody tr")].map((tr) => tr.querySelectorAll("mark").length)`)
	for i, r := range rows {
		if want := wrongDigits(r.ID, r.Sent); !strings.HasPrefix(want, strconv.Itoa(marks[i])+" ") {
			p.t.Errorf("%+v: %d digits are marked, want %s", r, marks[i], want)
		}
	}
}

// fit checks that the page fits a window of the width. It writes an image to the folder
// that SCREENSHOTS names, if it is set.
func (p page) fit(name string, width int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, 800))
	if over := value[int64](p, `document.documentElement.scrollWidth`) - width; over > 0 {
		p.t.Errorf("%s: the page is %d pixels wider than its window of %d", name, over, width)
	}
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), image, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// open shows the page in a new browser and presses its button.
func open(t *testing.T, address string) page {
	t.Helper()
	p := page{t: t, ctx: testbrowser.Start(t), address: address, console: &consoleLog{}}
	if err := chromedp.Listen(p.ctx, p.console.add); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(address), chromedp.Click("#run"))
	return p
}
