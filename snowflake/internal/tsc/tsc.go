// Package tsc reads the time stamp counter, in which x86 processors count at a
// steady rate, in a third of the time that reading the clock takes.
//
// A count is no time: the rate differs between processors, and a virtual machine
// that is moved or woken up may go on from any other count. Two counts tell how
// much time has passed between them at most, no more.
package tsc
