//go:build !linux

package cpu

// Pin does nothing: threads are bound to CPUs on Linux only.
func Pin(int) {}
