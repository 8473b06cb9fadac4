//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// serverCPU returns the CPU time in seconds of all processes of this name, and of their
// children that have ended. It returns 0 if there is no /proc.
func serverCPU(name string) float64 {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	ticks := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("("+name+")")) {
			continue
		}
		ticks += usedTicks(string(text))
	}
	return float64(ticks) / 100 // USER_HZ, which is 100 on every Linux
}

// usedTicks returns the sum of fields 14 to 17 of /proc/PID/stat, as proc(5) describes
// them.
func usedTicks(stat string) (sum int) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from the third field on
	for _, field := range fields[11:15] {
		n, _ := strconv.Atoi(field)
		sum += n
	}
	return sum
}
