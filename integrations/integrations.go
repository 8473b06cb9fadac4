// Package integrations shows [types.ID] in the libraries that Go programs with
// GORM use most: each test is one library, and belongs to a row of
// docs/integrations.md (testsOf, in page_test.go).
// Where a library needs a line to work, the test has that line. The module has no
// code for programs to import.
package integrations
