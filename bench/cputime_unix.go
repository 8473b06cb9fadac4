//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what the process has used of all CPUs so far.
func cpuTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
