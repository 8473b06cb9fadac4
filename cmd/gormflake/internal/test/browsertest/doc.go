// Package browsertest drives the inspector with a real Chromium. It is a module
// of its own, so that the program needs no browser driver.
//
// Its tests find the browser by the environment variable CHROMIUM, or as
// chromium on the PATH, and are skipped where there is none, unless
// GORMFLAKE_TEST_REQUIRE lists chromium. SCREENSHOTS names a folder for images
// of the page, and GORMFLAKE_TEST_AXE the file axe.min.js of axe-core, without
// which the tests that need it are skipped.
package browsertest
