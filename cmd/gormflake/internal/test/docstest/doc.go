// Package docstest runs the examples in the pages of the repository. It runs the commands
// in README*.md and docs/*.md with the real program on real databases. The tests of the
// root package run the blocks of Go.
//
// A block in the language console has commands after "$ ", each followed by its output; a
// block in the language sh only has commands. The commands of a page run in order, in a
// folder of their own, once for each kind of database that the blocks name. Each database
// contains the shop of docs/moving.md.
package docstest
