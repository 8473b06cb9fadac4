//go:build !unix

package testserver

import (
	"os"
	"os/exec"
	"syscall"
)

// Systems without signals have no server here: pausing one is what this package
// is for.

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
