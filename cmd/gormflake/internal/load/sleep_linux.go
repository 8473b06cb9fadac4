package load

import (
	"syscall"
	"time"
)

// shortSleep may return early, when a signal arrives.
func shortSleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
