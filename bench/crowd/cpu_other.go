//go:build !unix

package main

import (
	"errors"
	"time"
)

func cpuTime() (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is only read on Unix")
}

func serverCPU(string) float64 { return 0 }
