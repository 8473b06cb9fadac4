package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine says what the figures were measured on, and by which command.
func machine(args []string) string {
	command := strings.Join(append([]string{"go run ."}, args...), " ")
	return fmt.Sprintf("%s, %d CPUs, %s, %s/%s, `%s`",
		cpuModel(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, command)
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}
