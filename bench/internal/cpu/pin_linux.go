package cpu

import "golang.org/x/sys/unix"

// Pin keeps the calling thread on one CPU. If the kernel does not allow it, the thread
// stays where it is, and the windows are only noisier.
func Pin(cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	_ = unix.SchedSetaffinity(0, &set)
}
