// Package docstest has the tests of the pages: README*.md and docs/*.md. What
// they link to exists, their programs and fragments compile, the tests they name
// exist, and the messages they quote are those of the code.
package docstest
