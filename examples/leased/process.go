package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/gormflake/gormflake/lease"
)

// A process is a writer that was started. Its fields belong to the show.
type process struct {
	name   string
	state  state
	gone   bool
	orders int // committed, as far as it has told
	seen   int // orders at the last scene

	command *exec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer // to be read once it has ended
}

type state int

const (
	starting state = iota
	writing
	paused
	killed
	ending
)

// A report is a note and who it is from. The last one of a process has its end.
type report struct {
	*process
	note
	end bool
	err error
}

// start starts this program again, as a writer that tells reports. They must be
// received until the last one.
func start(w work, reports chan<- report) (*process, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: w.Name, command: exec.Command(program)}
	p.command.Env = append(os.Environ(), workVariable+"="+string(text))
	p.command.Stderr = &p.stderr
	p.command.SysProcAttr = apart()
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.listen(stdout, reports)
	return p, nil
}

func (p *process) listen(stdout io.Reader, reports chan<- report) {
	decoder := json.NewDecoder(stdout)
	for {
		var n note
		if decoder.Decode(&n) != nil {
			break
		}
		reports <- report{process: p, note: n}
	}
	_, _ = io.Copy(io.Discard, stdout)
	err := p.command.Wait()
	if err != nil {
		err = fmt.Errorf("process %s: %w: %s", p.name, err, bytes.TrimSpace(p.stderr.Bytes()))
	}
	reports <- report{process: p, end: true, err: err}
}

func (p *process) pid() int { return p.command.Process.Pid }

// finish tells the process to end in good order.
func (p *process) finish() {
	if p.state == paused {
		p.resume()
	}
	if p.state != killed {
		p.state = ending
	}
	_ = p.stdin.Close()
}

func (p *process) kill() { _ = p.command.Process.Kill() }

// holds reports whether the process holds the worker: an owner is
// host/process/random.
func (p *process) holds(h lease.Holder) bool {
	parts := strings.Split(h.Owner, "/")
	return len(parts) == 3 && parts[1] == strconv.Itoa(p.pid())
}
