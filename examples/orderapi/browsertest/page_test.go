package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testbrowser"
	"github.com/gormflake/gormflake/internal/test/testserver"
)

// TestOrderIsReopenedByItsKey checks that the page finds an order again by the key in its
// address and by a key that a user enters, but not by the key as a number.
func TestOrderIsReopenedByItsKey(t *testing.T) {
	t.Parallel()
	address := startOrders(t)
	p := page{t: t, ctx: testbrowser.Start(t)}

	p.do(chromedp.Navigate(address), chromedp.SetValue("#customer", "Grace Hopper"), chromedp.Click("#create"))
	placed := p.order()
	if placed.Customer != "Grace Hopper" || strings.Count(placed.Lines, "\n") != 1 {
		t.Errorf("placed %+v, want two lines for Grace Hopper", placed)
	}
	if id, err := strconv.ParseInt(placed.Key, 10, 64); err != nil || id <= 1<<53 {
		t.Errorf("key %q: want a number above 2^53", placed.Key)
	}

	// After a reload the page only has the key in its address.
	p.do(chromedp.Reload())
	if again := p.order(); again != placed {
		t.Errorf("after a reload: %+v, want %+v", again, placed)
	}
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address),
		chromedp.SendKeys("#id", placed.Key), chromedp.Click("#reopen"))
	if again := p.order(); again != placed {
		t.Errorf("opened by the key: %+v, want %+v", again, placed)
	}
	p.wantLostAsNumber(placed)
	p.screenshot("desktop", 1280)
	p.screenshot("phone", 360)
}

// Selectors of the fields of the order's first line.
const (
	firstQuantity = ".row [name=Quantity]"
	firstPrice    = ".row [name=Price]"
)

// TestMistakeIsExplained checks that the page shows the server's error for a mistake, and
// still works.
func TestMistakeIsExplained(t *testing.T) {
	t.Parallel()
	address := startOrders(t)
	p := page{t: t, ctx: testbrowser.Start(t)}

	p.do(chromedp.Navigate(address), chromedp.SetValue(firstQuantity, "0"), chromedp.Click("#create"))
	if got := p.text("#message"); !strings.Contains(got, "lines[0].quantity is 0: want 1 or more") {
		t.Errorf("message %q", got)
	}
	p.do(chromedp.SetValue(firstQuantity, "7777"))
	for _, price := range []string{"Infinity", " ", "-1", "1.234", "1e3", "x"} {
		p.do(chromedp.SetValue(firstPrice, price), chromedp.Click("#create"))
		if got := p.text("#message"); !strings.Contains(got, "Price "+strconv.Quote(price)+": want an amount such as 4.50") {
			t.Errorf("price %q: message %q", price, got)
		}
	}
	p.do(chromedp.SetValue(firstPrice, "4.35"), chromedp.Click("#create"))
	if order := p.order(); !strings.Contains(order.Lines, "7777") || !strings.Contains(order.Lines, "4.35") {
		t.Errorf("after the mistake was fixed: %+v", order)
	}
}

// TestDoubleClickIsOneOrder checks that a second click before the response does not place
// a second order.
func TestDoubleClickIsOneOrder(t *testing.T) {
	t.Parallel()
	address := startOrders(t)
	p := page{t: t, ctx: testbrowser.Start(t)}
	p.do(chromedp.Navigate(address))
	const twice = `(async () => {
		const answers = [], fetched = window.fetch;
		window.fetch = async (...args) => { const answer = await fetched(...args); answers.push((await answer.clone().json()).id); return answer };
		const button = document.getElementById("create");
		button.click();
		button.click();
		while (answers.length < 2) await new Promise((done) => setTimeout(done, 10));
		await new Promise((done) => setTimeout(done, 100));
		button.click();
		while (answers.length < 3) await new Promise((done) => setTimeout(done, 10));
		return answers;
	})()`
	ids := value(p, chromedp.Evaluate[[]string](twice, chromedp.EvalAwaitPromise))
	if ids[0] == "" || ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("orders %q, want the first twice, and another", ids)
	}
}

// page is a page in the browser. Its methods end the test when they fail.
type page struct {
	t   *testing.T
	ctx context.Context
}

// do runs the actions one after another.
func (p page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// text waits until the element is visible, and returns its text.
func (p page) text(selector string) string {
	p.t.Helper()
	p.do(chromedp.WaitVisible(selector))
	return value(p, chromedp.Text(selector))
}

// value runs an action and returns its result.
func value[T any](p page, action chromedp.Action[T]) T {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

// order is an order as the page shows it.
type order struct{ Key, Customer, Placed, Lines string }

// order waits until the page shows an order, and returns it.
func (p page) order() order {
	p.t.Helper()
	p.do(chromedp.WaitVisible("#order"))
	return order{Key: p.text("#order-id"), Customer: p.text("#order-customer"), Placed: p.text("#order-time"), Lines: p.text("#lines")}
}

// wantLostAsNumber makes the page open the order by its key as a number, which names no
// row, and then as a string.
func (p page) wantLostAsNumber(o order) {
	p.t.Helper()
	number := p.text("#as-number")
	p.do(chromedp.Click("#try-number"))
	value(p, chromedp.Poll[bool](`document.getElementById("number-result").textContent.includes("404")`))
	if got := p.text("#number-result"); number == o.Key || !strings.Contains(got, "there is no order "+number) {
		p.t.Errorf("key %s as the number %s: %q", o.Key, number, got)
	}
	p.do(chromedp.Click("#try-string"))
	value(p, chromedp.Poll[bool](`document.getElementById("string-result").textContent.includes("Found")`))
	if got := p.text("#string-result"); !strings.Contains(got, o.Customer) {
		p.t.Errorf("key %s as a string: %q", o.Key, got)
	}
}

// screenshot checks that the page fits the width. It writes an image to the folder that
// SCREENSHOTS names, if it is set.
func (p page) screenshot(name string, width int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, 800))
	over := value(p, chromedp.Evaluate[int](`document.documentElement.scrollWidth - `+strconv.FormatInt(width, 10)))
	if over > 0 {
		p.t.Errorf("%s: the page is %d pixels wider than its window of %d", name, over, width)
	}
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	image := value(p, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), image, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// startOrders starts examples/orderapi, and returns its address.
func startOrders(t *testing.T) string {
	t.Helper()
	testserver.Program(t, "chromium") // otherwise the program need not be built
	return testserver.Serve(t, testserver.Build(t, ".."), "-addr", "127.0.0.1:0")
}
