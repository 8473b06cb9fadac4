//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// serverCPU returns the CPU time in seconds of all processes of this name, for example
// postgres, and of their children that have ended. In /proc/PID/stat, the name is in
// parentheses. serverCPU returns 0 if there is no /proc, as on macOS.
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

// usedTicks returns the CPU time in the text of /proc/PID/stat, in ticks of the kernel. It is
// the sum of fields 14 to 17 in proc(5), which are the time of the process in user and in
// kernel mode, and both for its children that have ended.
func usedTicks(stat string) (sum int) {
	// Field 2, the name in parentheses, may contain spaces, so split the text after it. The
	// first of these fields is field 3, and field 14 has index 11.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	for _, field := range fields[11:15] {
		n, _ := strconv.Atoi(field)
		sum += n
	}
	return sum
}
