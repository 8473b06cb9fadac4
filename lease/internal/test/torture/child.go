package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A child is a torture process as its parent sees it.
type child struct {
	number  int
	journal string // path of the file
	command *exec.Cmd
	stdin   io.Closer     // the process ends when stdin is closed
	output  bytes.Buffer  // what it has written to its standard error
	ready   firstWrite    // closed by its first output, which means that it has begun
	gone    chan struct{} // closed when the process has ended
}

// A firstWrite is closed by the first write.
type firstWrite chan struct{}

// Write closes the channel at the first call, and discards p.
func (s firstWrite) Write(p []byte) (int, error) {
	select {
	case <-s:
	default:
		close(s)
	}
	return len(p), nil
}

func (c *child) String() string { return fmt.Sprintf("process %d", c.number) }

// startChild starts the test binary as a torture process, and waits until it has begun. The
// binary finds the script in a variable of its environment, and runs no test.
func startChild(s script, number int) (*child, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{number: number, journal: s.Journal, ready: make(firstWrite), gone: make(chan struct{})}
	c.command = exec.Command(program, "-test.run=^$")
	c.command.Env = append(os.Environ(), scriptVariable+"="+string(text))
	c.command.Stdout, c.command.Stderr = c.ready, &c.output
	c.command.SysProcAttr = ownGroup()
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.command.Wait() // ProcessState has the details
		close(c.gone)
	}()
	return c, c.awaitReady()
}

// awaitReady waits until the process has begun. It returns an error if the process ends
// before, or does not begin in time.
func (c *child) awaitReady() error {
	select {
	case <-c.ready:
		return nil
	case <-c.gone:
	case <-time.After(endTimeout):
		c.kill()
	}
	return c.outcome()
}

// outcome waits until the process has ended, and returns an error with its exit state and its
// output. If there is neither output nor a journal, the process has run no script, because
// TestMain does not call Main. The error then says that.
func (c *child) outcome() error {
	<-c.gone
	if _, err := os.Stat(c.journal); err != nil && c.output.Len() == 0 {
		return fmt.Errorf("it has played no part, %v: TestMain has to call leasetest.Main", c.command.ProcessState)
	}
	return fmt.Errorf("%v: %s", c.command.ProcessState, c.output.Bytes())
}

// kill kills the process and waits for its end.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	<-c.gone
	_ = c.stdin.Close()
}

// endTimeout is how long a process may take to begin, or to release its worker and end, on a
// busy machine.
const endTimeout = 4 * closing

// end asks the process to end in order, and waits until it has ended.
func (c *child) end() error {
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%w; %w", err, c.outcome())
	}
	select {
	case <-c.gone:
	case <-time.After(endTimeout):
		c.kill()
		return fmt.Errorf("it has not ended within %v", endTimeout)
	}
	if !c.command.ProcessState.Success() {
		return c.outcome()
	}
	return nil
}
