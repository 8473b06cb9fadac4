// Package browsertest drives the page of examples/orderapi with a real Chromium.
// It is a module of its own, so that the library needs no browser driver.
//
// Its test finds the browser by the environment variable CHROMIUM, or as
// chromium on the PATH, and is skipped where there is none, unless
// GORMFLAKE_TEST_REQUIRE lists chromium.
package browsertest
