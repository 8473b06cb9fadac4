// Package docstest tests README*.md, docs/*.md and evidence.md. It checks that their
// links resolve, that their programs and fragments compile, that the tests that they name
// exist, and that the code produces the messages that they quote.
package docstest
