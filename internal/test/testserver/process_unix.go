//go:build unix

package testserver

import (
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stateTimeout limits how long awaitState waits.
const stateTimeout = 10 * time.Second

// processState is an entry of the system's list of processes.
type processState struct {
	parent int
	state  byte // T if stopped, Z if ended
}

// tree returns the process and its descendants, parents first. It does not use process
// groups, because PostgreSQL puts each of its processes into a separate group.
func (p *process) tree() []int {
	all := processes()
	pids := []int{p.pid}
	for i := 0; i < len(pids); i++ {
		for pid, f := range all {
			if f.parent == pids[i] {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// pause stops all processes until resume.
func (p *process) pause() error {
	if p.guard != nil {
		return nil // paused already
	}
	p.freeze()
	return p.startGuard()
}

// freeze stops all processes, the parent before its children, so that it cannot start more
// children.
func (p *process) freeze() {
	sendSignal(p.pid, syscall.SIGSTOP)
	awaitState([]int{p.pid}, "TZ")
	pids := p.tree()
	for _, pid := range pids[1:] {
		sendSignal(pid, syscall.SIGSTOP)
	}
	awaitState(pids, "TZ")
}

// startGuard starts a shell that kills the paused processes if this process dies, because
// stopped children do not notice that their parent is gone.
func (p *process) startGuard() error {
	args := []string{"-c", `read -r _ || kill -KILL "$@"`, "sh"}
	for _, pid := range p.tree() {
		args = append(args, strconv.Itoa(pid))
	}
	guard := exec.Command("/bin/sh", args...)
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keeps running when a terminal's ^C ends this process
	end, err := guard.StdinPipe()
	if err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	p.guard = func() {
		_, _ = io.WriteString(end, "\n")
		_ = guard.Wait()
	}
	return nil
}

// endGuard ends the shell of startGuard, so that it does not kill the processes.
func (p *process) endGuard() {
	if p.guard != nil {
		p.guard()
		p.guard = nil
	}
}

// resume lets all processes continue after pause.
func (p *process) resume() {
	p.endGuard()
	for _, pid := range p.tree() {
		sendSignal(pid, syscall.SIGCONT)
	}
}

// kill stops all processes first. Otherwise children that survive their parent would no
// longer be found as its descendants.
func (p *process) kill() {
	p.endGuard()
	select {
	case <-p.done:
		return // another process may have the number now
	default:
	}
	p.freeze()
	pids := p.tree()
	for _, pid := range pids {
		sendSignal(pid, syscall.SIGKILL)
	}
	<-p.done
	awaitState(pids, "Z")
}

// awaitState returns when all processes are gone or in one of the states, because the
// system stops and kills them some time after the signal.
func awaitState(pids []int, states string) {
	for deadline := time.Now().Add(stateTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if all := processes(); allInStates(all, pids, states) {
			return
		}
	}
}

// allInStates reports whether each of the processes is gone or in one of the states.
func allInStates(all map[int]processState, pids []int, states string) bool {
	for _, pid := range pids {
		if f, ok := all[pid]; ok && strings.IndexByte(states, f.state) < 0 {
			return false
		}
	}
	return true
}

// sendSignal ignores the error for a process that has ended.
func sendSignal(pid int, signal syscall.Signal) { _ = syscall.Kill(pid, signal) }
