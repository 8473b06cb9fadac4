//go:build !unix

package main

import "syscall"

// canPause: there is no SIGSTOP here, so nobody is paused.
const canPause = false

func apart() *syscall.SysProcAttr { return nil }

func (p *process) pause() {}

func (p *process) resume() {}
