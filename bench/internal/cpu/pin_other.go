//go:build !linux

package cpu

// Pin does nothing, because threads are bound to CPUs on Linux only.
func Pin(int) {}
