package cpu

import "golang.org/x/sys/unix"

// Pin keeps the calling thread on one CPU. Where that is not allowed the
// thread stays where the kernel puts it, and the windows are only noisier.
func Pin(cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	_ = unix.SchedSetaffinity(0, &set)
}
