//go:build !unix

package torture

import (
	"syscall"
	"testing"
)

// requireSignals skips the test, because this system cannot pause a process by a signal.
func requireSignals(t *testing.T) {
	t.Helper()
	t.Skip("the torture stops processes by a signal that this system does not have")
}

func (c *child) pause() error        { return nil }
func (c *child) resume()             {}
func ownGroup() *syscall.SysProcAttr { return nil }
