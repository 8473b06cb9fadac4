//go:build unix

package torture

import (
	"syscall"
	"testing"
)

func requireSignals(*testing.T) {}

func (c *child) stop() error { return c.command.Process.Signal(syscall.SIGSTOP) }

// goOn fails only where the process has been killed, which is seen elsewhere.
func (c *child) goOn() { _ = c.command.Process.Signal(syscall.SIGCONT) }

// apart puts the process in a group of its own: when the test process dies, the
// system then hangs up on a child that is stopped, which cannot see the end of
// its input.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
