// Package tsc reads the processor's time stamp counter, in a third of the time
// that reading the clock takes.
//
// Counts are no time: what one stands for is not known, and a virtual machine
// that is moved or woken up may go on from any other. They tell how long ago
// something was at most, as long as that is less than a tick, and no more.
package tsc
