package clock

import (
	"syscall"
	"time"
)

// nanosleep sleeps for d by a system call, which wakes up more precisely than the runtime's
// timer. If a signal arrives, the call returns early and with an error. nanosleep ignores this
// error, because the caller of Sleep reads the clock again anyway.
func nanosleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
