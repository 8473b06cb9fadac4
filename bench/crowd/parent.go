package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// child is the process that holds the leases, as the process that measures uses it.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser // for commands
	answers *json.Decoder  // of the child's output
	server  string         // the name of the database server's processes, for serverCPU
}

// startChild starts this program again, as the process that holds the leases. args are the
// arguments of this process.
func startChild(server string, args []string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self, append([]string{"-crowd"}, args...)...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{command: command, stdin: stdin, answers: json.NewDecoder(stdout), server: server}, command.Start()
}

// do sends a command to the child, waits until the child has executed it, and returns the
// child's answer, to which it adds the CPU time of the server.
func (c *child) do(command string) (f figures, err error) {
	before := serverCPU(c.server)
	if _, err := fmt.Fprintln(c.stdin, command); err != nil {
		return f, err
	}
	err = c.answers.Decode(&f)
	f.ServerCPU = serverCPU(c.server) - before
	return f, err
}

// kill kills the child, which has no time to release its leases.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// round is the list of commands that a child executes until it is killed.
type round struct {
	title    string // how the previous round has left the table
	commands []string
}

// rounds are executed in this order, each by a new child.
var rounds = []round{
	{"on an empty table", []string{start, hold, release}},
	{"after all were released", []string{start}},
	{"after all were killed", []string{start, release}},
}

// measure runs all rounds, and prints a row of figures for each command. args are the arguments
// of this process, for the child. The table stays between the rounds, because a round begins
// with the leases that the previous round has left.
func measure(o options, args []string) (err error) {
	db, err := o.open(1)
	if err != nil {
		return err
	}
	drop := func() error { return db.Exec("DROP TABLE IF EXISTS " + table).Error }
	if err := drop(); err != nil {
		return err
	}
	defer func() {
		if dropErr := drop(); err == nil {
			err = dropErr
		}
	}()
	// The names of the server's processes, by which serverCPU finds them.
	server := map[string]string{"postgres": "postgres", "mysql": "mariadbd"}[db.Name()]
	fmt.Printf("%s, %d CPUs, %s, load %s, %d leases, %d connections, %d bits\n\n",
		db.Name(), runtime.NumCPU(), runtime.Version(), load(), o.leases, o.connections, o.bits)
	fmt.Println(header)
	for _, r := range rounds {
		if err := r.execute(server, args); err != nil {
			return err
		}
	}
	return nil
}

// execute starts a child, and prints a row for each command of the round. At the end it kills
// the child, which may still hold leases. server is the name of the database server's
// processes, and args are the arguments of this process.
func (r round) execute(server string, args []string) error {
	c, err := startChild(server, args)
	if err != nil {
		return err
	}
	defer c.kill()
	for _, command := range r.commands {
		f, err := c.do(command)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", r.title, command, err)
		}
		fmt.Println(f.row(command + ", " + r.title))
	}
	return nil
}

// header is the head of the table that measure prints.
const header = `| what | seconds | workers | attempts that failed | writes/s | most in a second | p50, p99, most, ms | with the connection, ms | CPU of server, clients, s | failed, lost |
|---|---|---|---|---|---|---|---|---|---|`

// row returns the figures as a row of the table under header. title is the first cell.
func (f figures) row(title string) string {
	cells := []string{
		title, fmt.Sprintf("%.1f", f.Seconds), strconv.Itoa(f.Distinct), strconv.Itoa(f.Attempts),
		fmt.Sprintf("%.0f", f.PerSecond), strconv.Itoa(f.Peak),
		fmt.Sprintf("%.1f, %.1f, %.0f", f.P50, f.P99, f.Max),
		fmt.Sprintf("%.1f, %.1f, %.0f", f.TotalP50, f.TotalP99, f.TotalMax),
		fmt.Sprintf("%.1f, %.1f", f.ServerCPU, f.ClientCPU),
		fmt.Sprintf("%d, %d", f.FailedExtensions, f.LostExtensions),
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// load returns the present load of the machine, which is its average over a minute, and the
// time, for example "0.42 at 15:04". It returns "unknown" if there is no /proc.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	now, _, _ := strings.Cut(string(text), " ")
	return now + " at " + time.Now().UTC().Format("15:04")
}
