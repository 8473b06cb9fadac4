// Package testbrowser starts a Chromium of the test's own.
package testbrowser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gormflake/gormflake/internal/test/testserver"
)

// patience is for a loaded machine, which starts a browser slowly.
const patience = 2 * time.Minute

// Start returns the context of a tab, for package chromedp. The browser has no
// window, connects to nothing of its own, and is closed when the test ends. The
// test is skipped where there is no Chromium; see [testserver.Program].
func Start(t testing.TB) context.Context {
	t.Helper()
	chromium := testserver.Program(t, "chromium")
	// The test's own context ends before its cleanup, which needs the browser.
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, flags(chromium, t.TempDir())...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		// Closes the browser and waits, so that its folder can be removed.
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		stop()
	})
	return ctx
}

func flags(chromium, folder string) []chromedp.ExecAllocatorOption {
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium),
		chromedp.UserDataDir(folder),
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
