//go:build !unix

package cpu

import (
	"errors"
	"time"
)

// Time returns an error, because the CPU time of a process is only read on Unix.
func Time() (time.Duration, error) {
	return 0, errors.New("cpu: the CPU time of a process is only read on Unix")
}
