package clock

import (
	"syscall"
	"time"
)

// nanosleep may return early, when a signal arrives.
func nanosleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
