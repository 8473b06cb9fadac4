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

// ownGroup puts the process into its own process group. When the test process dies, the
// system then sends SIGHUP to a stopped child, which cannot notice the end of its
// input.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
