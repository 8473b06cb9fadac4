package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testbrowser"
)

// page is a page in the browser. Its methods end the test if they fail.
type page struct {
	t   *testing.T
	ctx context.Context // of the browser
	log *eventLog
}

// An eventLog contains the console messages and requests of a page. Each unexpected message,
// and each request to another origin, is an error.
type eventLog struct {
	mu       sync.Mutex
	messages []string
	requests []string
	expected []string // messages that the console must show
}

// add records an event of the browser.
func (s *eventLog) add(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch event := event.(type) {
	case *runtime.EventConsoleAPICalled:
		s.messages = append(s.messages, fmt.Sprintf("console.%s", event.Type))
	case *runtime.EventExceptionThrown:
		s.messages = append(s.messages, "exception: "+fmt.Sprint(event.ExceptionDetails.Exception.Description))
	case *log.EventEntryAdded:
		s.messages = append(s.messages, "log: "+event.Entry.Text+" "+fmt.Sprint(event.Entry.URL))
	case *network.EventRequestWillBeSent:
		s.requests = append(s.requests, event.Request.URL)
	}
}

// open shows the address in a new browser. At the end of the test, the console must contain
// only the expected messages, and all requests must have gone to the origin.
func open(t *testing.T, origin, path string) page {
	t.Helper()
	p := start(t, origin)
	p.visit(origin + path)
	return p
}

// start opens a new browser with the checks of open, but loads no address.
func start(t *testing.T, origin string) page {
	t.Helper()
	p := page{t, testbrowser.Start(t), &eventLog{}}
	if err := chromedp.Listen(p.ctx, p.log.add); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.log.check(t, origin) })
	return p
}

// expect adds a message that the console must show after the messages of earlier calls.
func (s *eventLog) expect(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = append(s.expected, message)
}

// check compares the messages with those that are expected, and checks that the page
// requests only its own origin, as the package comment of the page promises.
func (s *eventLog) check(t *testing.T, origin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.messages, s.expected) {
		t.Errorf("the console shows %q, want %q", s.messages, s.expected)
	}
	if len(s.requests) == 0 {
		t.Error("no request was seen at all")
	}
	for _, request := range s.requests {
		if !strings.HasPrefix(request, origin+"/") && !strings.HasPrefix(request, "data:") {
			t.Errorf("a request to %s", request)
		}
	}
}

// visit loads the address and waits until the page has started. It first shows an empty
// page, because a browser does not load an address again that differs only after the #.
func (p page) visit(address string) {
	p.t.Helper()
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	p.until(`document.documentElement?.dataset.ready === "true"`)
}

// beforeScripts runs a script in each page that the browser loads, before the
// page's own scripts.
func (p page) beforeScripts(script string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		p.t.Fatal(err)
	}
}

// do performs actions in the browser.
func (p page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// value evaluates a JavaScript expression in the page, and returns the result. If the result is
// a promise, value waits for it and returns the value of the promise.
func value[T any](p page, expression string) T {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// until waits for a condition. It does not use chromedp.Poll, which compiles a function
// from a text, because the page's policy forbids that. If the page navigates during an
// evaluation, until tries again.
func (p page) until(condition string) {
	p.t.Helper()
	for {
		met, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](condition, chromedp.EvalAwaitPromise))
		if err != nil && !hasNavigated(err) {
			p.t.Fatalf("%s: %v", condition, err)
		}
		if met {
			return
		}
		select {
		case <-p.ctx.Done():
			p.t.Fatalf("never: %s", condition)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hasNavigated reports whether an evaluation failed because the page has navigated.
func hasNavigated(err error) bool {
	var e *cdproto.Error
	return errors.As(err, &e) && (e.Message == "Inspected target navigated or closed" || e.Message == "Execution context was destroyed.")
}

// text returns the text of the element.
func (p page) text(selector string) string {
	p.t.Helper()
	return value[string](p, fmt.Sprintf(`document.querySelector(%q).textContent.trim()`, selector))
}

// want checks the whole text of the element.
func (p page) want(selector, want string) {
	p.t.Helper()
	if got := p.text(selector); got != want {
		p.t.Errorf("%s: %q, want %q", selector, got, want)
	}
}

// wantContains checks that the text of the element contains a text.
func (p page) wantContains(selector, want string) {
	p.t.Helper()
	if got := p.text(selector); !strings.Contains(got, want) {
		p.t.Errorf("%s: %q, want %q in it", selector, got, want)
	}
}

// enter replaces the value of a field, like a paste.
func (p page) enter(selector, text string) {
	p.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		p.t.Fatal(err)
	}
	value[bool](p, fmt.Sprintf(`(() => { const field = document.querySelector(%q); field.value = %s;
		field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true })); return true })()`, selector, quoted))
}

// press presses keys, which go to the element that has the focus.
func (p page) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// scheme emulates the preferred colour scheme of the system, light or dark.
func (p page) scheme(name string) {
	p.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		p.t.Fatal(err)
	}
	p.until(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, name))
}

// fit checks that the page is no wider than the window, and saves an image of it if
// SCREENSHOTS is set.
func (p page) fit(name string, width int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, 800))
	if excess := value[int](p, fmt.Sprintf(`document.documentElement.scrollWidth - %d`, width)); excess > 0 {
		p.t.Errorf("%s: the page is %d pixels wider than its window of %d: %s", name, excess, width, value[string](p, tooWide))
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

// tooWide lists the elements that extend beyond the window.
const tooWide = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth && e.closest(".scroll") === null)
	.map((e) => e.tagName + "#" + e.id + "." + e.className).slice(0, 9).join(" ")`
