//go:build !linux

package cpu

// Pin does nothing, because this package binds threads to CPUs on Linux only.
func Pin(int) {}
