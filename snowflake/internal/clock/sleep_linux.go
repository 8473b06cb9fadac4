package clock

import (
	"syscall"
	"time"
)

// nanosleep sleeps for d by a system call, which wakes up more precisely than the runtime's
// timer. It may return early if a signal arrives, so it ignores the error.
func nanosleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
