//go:build !unix

package torture

import (
	"syscall"
	"testing"
)

func requireSignals(t *testing.T) {
	t.Helper()
	t.Skip("the torture stops processes by a signal that this system does not have")
}

func (c *child) stop() error      { return nil }
func (c *child) goOn()            {}
func apart() *syscall.SysProcAttr { return nil }
