package cpu

import "golang.org/x/sys/unix"

// Pin keeps the calling thread on the CPU with this number. If the kernel does not allow it,
// for example because the process may not use this CPU, the thread is not bound, and the
// measurements are only noisier.
func Pin(cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	_ = unix.SchedSetaffinity(0, &set)
}
