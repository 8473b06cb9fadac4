// Package onlinetest has no code, but tests: they widen tables of real servers
// while programs read and write them.
package onlinetest
