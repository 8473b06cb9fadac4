//go:build !linux

package snowflake

import "time"

func shortSleep(d time.Duration) { time.Sleep(d) }
