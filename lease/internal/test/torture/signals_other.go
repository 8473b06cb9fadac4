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

func (c *child) pause() error        { return nil }
func (c *child) resume()             {}
func ownGroup() *syscall.SysProcAttr { return nil }
