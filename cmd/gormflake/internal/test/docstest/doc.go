// Package docstest runs what the pages of the repository show: the commands of
// README*.md and docs/*.md, on real databases and with the real program. Blocks
// of Go are run by the tests of the root.
//
// A block of the language console has commands after "$ ", and below them what
// they print; one of the language sh has commands alone. The commands of a page
// run in order, in a folder of their own, once for each kind of database that
// its blocks name. There, each database holds the shop of docs/moving.md.
package docstest
