// Package docstest tests README*.md, docs/*.md and evidence.md: their links lead
// somewhere, their programs and fragments compile, the tests that they name exist,
// and the code produces the messages that they quote.
package docstest
