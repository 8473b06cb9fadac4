//go:build unix

package torture

import (
	"syscall"
	"testing"
)

// requireSignals returns at once on Unix. On systems that cannot pause a process by a signal, it
// skips the test.
func requireSignals(*testing.T) {}

// pause pauses the process.
func (c *child) pause() error { return c.command.Process.Signal(syscall.SIGSTOP) }

// resume continues a paused process. It ignores the error of a process that was killed,
// which is noticed elsewhere.
func (c *child) resume() { _ = c.command.Process.Signal(syscall.SIGCONT) }

// ownGroup puts a child into its own process group. A stopped child cannot notice that its
// standard input has ended. If the test process dies, the child's group is orphaned, and the
// system sends SIGHUP to the stopped child, which ends it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
