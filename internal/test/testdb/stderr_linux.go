package testdb

import (
	"os"
	"syscall"
)

// Numbers of system calls that package syscall does not name. They are the same on every
// architecture that Go supports.
const (
	sysPidfdOpen  = 434
	sysPidfdGetfd = 438
)

// duplicateStderr returns a duplicate of the standard error of a process, which shares
// its write position. It returns nil on kernels before 5.6, and on systems that allow
// this only to root.
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
