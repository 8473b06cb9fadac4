//go:build !linux

package load

import "time"

func shortSleep(d time.Duration) { time.Sleep(d) }
