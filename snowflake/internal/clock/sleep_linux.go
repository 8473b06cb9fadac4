package clock

import (
	"syscall"
	"time"
)

// nanosleep sleeps for d. It may return early if a signal arrives.
func nanosleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
