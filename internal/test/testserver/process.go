package testserver

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a command with all its descendants.
type process struct {
	pid   int
	done  chan struct{} // closed when the command itself has ended
	guard func()        // ends the shell of startGuard, which would kill the process; nil unless the process is paused
}

// startProcess starts command and closes this process's copy of the file to which it
// writes. Linux ends a child together with the thread that started it, so a thread starts
// the command and does nothing else until the command has ended.
func startProcess(command *exec.Cmd) (*process, error) {
	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		if closer, ok := command.Stdout.(io.Closer); ok {
			closer.Close()
		}
		if err == nil {
			p.pid = command.Process.Pid
		}
		started <- err
		if err == nil {
			_ = command.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// stop sends the signal that asks the server to end, and kills the server if it does not
// end within the timeout.
func (p *process) stop(signal syscall.Signal, timeout time.Duration) error {
	p.resume()
	sendSignal(p.pid, signal)
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		p.kill()
		return fmt.Errorf("still running after %s: killed", timeout)
	}
}
