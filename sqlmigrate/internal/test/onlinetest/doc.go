// Package onlinetest contains only tests. They widen tables of real servers while
// programs read and write them.
package onlinetest
