package testserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// sysProcAttr returns attributes by which a child is in a new process group, so that the
// terminal's ^C does not reach the child. By them the system also kills the child when the
// thread that started it ends, for example because the test process was killed.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processes returns all processes of the system, by their numbers.
func processes() map[int]processState {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	all := make(map[int]processState, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		// A line is: 17 (name, which may contain any characters) S 1 …
		var f processState
		if _, err := fmt.Sscanf(string(text[bytes.LastIndexByte(text, ')')+1:]), " %c %d", &f.state, &f.parent); err == nil {
			all[pid] = f
		}
	}
	return all
}
