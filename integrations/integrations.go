// Package integrations tests [types.ID] with the libraries that Go programs with GORM use
// most. Each test is for one library, and belongs to a row of docs/integrations.md
// (testsOf, in page_test.go). If a library needs a line of code to work, the test
// contains that line. The module has no code for programs to import.
package integrations
