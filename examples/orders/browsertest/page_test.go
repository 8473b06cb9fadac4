package browsertest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/testserver"
)

const patience = 2 * time.Minute // a loaded machine starts a browser slowly

func TestOrderIsReopenedByItsKey(t *testing.T) {
	t.Parallel()
	chromium := testserver.Program(t, "chromium")
	address := startOrders(t)
	p := startBrowser(t, chromium)

	p.do(chromedp.Navigate(address), chromedp.SetValue("#customer", "Grace Hopper"), chromedp.Click("#create"))
	placed := p.order()
	if placed.Customer != "Grace Hopper" || strings.Count(placed.Lines, "\n") != 1 {
		t.Errorf("placed %+v, want two lines for Grace Hopper", placed)
	}
	if id, err := strconv.ParseInt(placed.Key, 10, 64); err != nil || id <= 1<<53 {
		t.Errorf("key %q: want a number above 2^53", placed.Key)
	}

	// A reload starts the page anew, with nothing but the key in its address.
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

// A mistake is answered by the server's sentence, and the page goes on working.
func TestMistakeIsExplained(t *testing.T) {
	t.Parallel()
	chromium := testserver.Program(t, "chromium")
	address := startOrders(t)
	p := startBrowser(t, chromium)

	p.do(chromedp.Navigate(address), chromedp.SetValue("#quantity-1", "0"), chromedp.Click("#create"))
	if got := p.text("#message"); !strings.Contains(got, "lines[0].quantity must be 1 to") {
		t.Errorf("message %q", got)
	}
	p.do(chromedp.SetValue("#quantity-1", "7777"), chromedp.Click("#create"))
	if order := p.order(); !strings.Contains(order.Lines, "7777") {
		t.Errorf("after the mistake was mended: %+v", order)
	}
}

// page is what the browser shows. Its methods end the test when they fail.
type page struct {
	t   *testing.T
	ctx context.Context
}

func (p page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// text waits until the element is visible.
func (p page) text(selector string) string {
	p.t.Helper()
	p.do(chromedp.WaitVisible(selector))
	return value(p, chromedp.Text(selector))
}

func value[T any](p page, action chromedp.Action[T]) T {
	p.t.Helper()
	got, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

type order struct{ Key, Customer, Placed, Lines string }

func (p page) order() order {
	p.t.Helper()
	p.do(chromedp.WaitVisible("#order"))
	return order{p.text("#order-id"), p.text("#order-customer"), p.text("#order-time"), p.text("#lines")}
}

// wantLostAsNumber has the page open the order by its key as a number, which
// names no row, and then as a string.
func (p page) wantLostAsNumber(o order) {
	p.t.Helper()
	number := p.text("#as-number")
	p.do(chromedp.Click("#try-number"))
	value(p, chromedp.Poll[bool](`document.getElementById("number-verdict").textContent.includes("404")`))
	if got := p.text("#number-verdict"); number == o.Key || !strings.Contains(got, "there is no order "+number) {
		p.t.Errorf("key %s as the number %s: %q", o.Key, number, got)
	}
	p.do(chromedp.Click("#try-string"))
	value(p, chromedp.Poll[bool](`document.getElementById("string-verdict").textContent.includes("Found")`))
	if got := p.text("#string-verdict"); !strings.Contains(got, o.Customer) {
		p.t.Errorf("key %s as a string: %q", o.Key, got)
	}
}

// screenshot wants the page to fit the width. The image goes to the folder that
// SCREENSHOTS names, if any.
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

func startBrowser(t *testing.T, chromium string) page {
	t.Helper()
	// The test's own context ends before its cleanup, which needs the browser.
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(stop)
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.NoFirstRun,
		chromedp.Headless,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience),
	}
	for _, name := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"} {
		flags = append(flags, chromedp.Flag(name, true))
	}
	ctx, stop = chromedp.NewExecAllocator(ctx, flags...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		// Closes the browser and waits, so that its folder can be removed.
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		stop()
	})
	return page{t, ctx}
}

// startOrders builds the program, lets it serve on a free port, and returns the
// address that it prints.
func startOrders(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orders")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	serve := exec.Command(program, "-serve", "127.0.0.1:0")
	serve.Stderr = os.Stderr
	stdout, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopOrders(t, serve) })
	first, err := bufio.NewReader(stdout).ReadString('\n')
	address := regexp.MustCompile(`http://\S+/`).FindString(first)
	if err != nil || address == "" {
		t.Fatalf("no address in %q: %v", first, err)
	}
	return address
}

// stopOrders wants the program to end by itself, and without an error.
func stopOrders(t *testing.T, serve *exec.Cmd) {
	if runtime.GOOS == "windows" {
		_ = serve.Process.Kill() // has no signal that asks
		_ = serve.Wait()
		return
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	timer := time.AfterFunc(patience, func() { _ = serve.Process.Kill() })
	defer timer.Stop()
	if err := serve.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
