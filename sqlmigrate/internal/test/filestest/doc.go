// Package filestest has no code, but tests: they run the files that package
// sqlmigrate writes with the tools that they are for, up and down. It is a
// module of its own so that nobody else needs those tools.
package filestest
