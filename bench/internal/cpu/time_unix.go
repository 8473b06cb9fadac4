//go:build unix

// Package cpu reads the CPU time of the process, and binds threads to CPUs.
package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// Time returns the CPU time that the process has used so far, on all CPUs.
func Time() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
