// Package testbrowser starts a separate Chromium for each test.
package testbrowser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// patience is a generous timeout, because a loaded machine starts a browser slowly.
const patience = 2 * time.Minute

// Start starts a browser and returns the context of a tab, for package chromedp. The
// browser is headless and makes no connections of its own. It is closed when the test
// ends. Start skips the test if there is no Chromium; see [testserver.Program].
func Start(t testing.TB) context.Context {
	t.Helper()
	chromium := testserver.Program(t, "chromium")
	// The test's own context ends before its cleanup, which needs the browser.
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, flags(chromium)...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		// Cancel closes the browser, and waits until it has removed the browser's folder.
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		stop()
	})
	return ctx
}

// flags returns the options of a browser. There is none for the folder of its data, because
// chromedp then creates a temporary folder, and removes it after all processes of the browser
// have ended. These write to the folder for a moment after the browser has been closed.
func flags(chromium string) []chromedp.ExecAllocatorOption {
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium),
		chromedp.NoFirstRun,
		chromedp.Headless,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.WindowSize(1280, 900),
		chromedp.WSURLReadTimeout(patience),
	}
	for _, name := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"} {
		flags = append(flags, chromedp.Flag(name, true))
	}
	return flags
}
