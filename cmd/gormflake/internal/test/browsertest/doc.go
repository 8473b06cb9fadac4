// Package browsertest tests the inspector in a real Chromium. It is a separate module, so
// that the program does not depend on a browser driver.
//
// The environment variable CHROMIUM names the browser; otherwise the tests look for
// chromium on the PATH. Without a browser, the tests are skipped, unless
// GORMFLAKE_TEST_REQUIRE lists chromium. SCREENSHOTS names a folder for images of the
// page. GORMFLAKE_TEST_AXE names the file axe.min.js of axe-core; tests that need it are
// skipped without it.
package browsertest
