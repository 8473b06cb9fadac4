//go:build unix

package main

import "syscall"

const canPause = true

// apart gives a process a group of its own: ^C reaches the show alone, and if
// that dies, the system wakes up what it has paused.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func (p *process) pause() { _ = syscall.Kill(p.pid(), syscall.SIGSTOP) }

func (p *process) resume() { _ = syscall.Kill(p.pid(), syscall.SIGCONT) }
