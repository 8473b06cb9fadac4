// Package browsertest drives the page of examples/orderapi with a real Chromium. It is a
// separate module, so that the library needs no browser driver.
//
// Its test finds the browser by the environment variable CHROMIUM, or as chromium in
// PATH. If there is no browser, the test is skipped, or fails if GORMFLAKE_TEST_REQUIRE
// lists chromium.
package browsertest
