package testdb

import (
	"os"
	"syscall"
)

// Numbers of system calls that package syscall does not name. They are the same
// on every architecture that Go runs on.
const (
	sysPidfdOpen  = 434
	sysPidfdGetfd = 438
)

// duplicateStderr returns the standard error of a process, sharing its write
// position, or nil. Kernels before 5.6 cannot do it, and many systems allow it
// to root only.
func duplicateStderr(pid int) *os.File {
	pidfd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return nil
	}
	fd, _, errno := syscall.Syscall(sysPidfdGetfd, pidfd, 2, 0)
	_ = syscall.Close(int(pidfd))
	if errno != 0 {
		return nil
	}
	return os.NewFile(fd, "stderr")
}
