//go:build unix && !linux

package testserver

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// sysProcAttr returns attributes by which a child is in a new process group, so that the
// terminal's ^C does not reach the child.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// processes returns all processes of the system, by their numbers.
func processes() map[int]processState {
	out, _ := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "state=").Output()
	all := make(map[int]processState)
	for line := range strings.Lines(string(out)) {
		var pid int
		var f processState
		if _, err := fmt.Sscanf(line, "%d %d %c", &pid, &f.parent, &f.state); err == nil {
			all[pid] = f
		}
	}
	return all
}
