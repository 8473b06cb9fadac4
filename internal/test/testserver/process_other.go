//go:build !unix

package testserver

import (
	"os"
	"os/exec"
	"syscall"
)

// This package starts no server on systems without signals, because it needs signals to
// pause servers.

func (s *Server) setAttributes(*exec.Cmd) error { return nil }

func (p *process) pause() error { return nil }
func (p *process) resume()      {}

func (p *process) kill() {
	sendSignal(p.pid, syscall.SIGKILL)
	<-p.done
}

func sendSignal(pid int, signal syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(signal)
	}
}
