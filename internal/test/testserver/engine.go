package testserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// An Engine is what differs from one kind of server to the next. A cluster changes
// what its members do otherwise than a server that is alone.
type Engine struct {
	SetUp   func(*Server) error    // once, before the first start
	Args    func(*Server) []string // at every start
	Answers func(*Server) error    // nil once the server serves
	Account string                 // that runs it in place of root; its Debian package has made it

	service string // as in GORMFLAKE_TEST_REQUIRE
	title   string
	pkg     string // Debian package, unless it has none
	get     string // the command that gets the program, if there is no package
	url     string // format with the port as its operand

	find       func() (program string, err error)
	client     func(s *Server, statement string) (program string, args []string) // of a database
	stopSignal syscall.Signal
	env        []string // of the server itself
	version    []string // arguments that ask the program; none for a database, which a query asks
}

// EngineOf returns the engine of a service, as GORMFLAKE_TEST_REQUIRE calls it.
func EngineOf(service string) Engine {
	return *engines[slices.IndexFunc(engines, func(e *Engine) bool { return e.service == service })]
}

// install is the command that installs the engine.
func (e *Engine) install() string {
	if e.pkg == "" {
		return e.get
	}
	return "apt-get install " + e.pkg
}

// inPath looks for a program where the shell does, and in the folders for
// system programs, which are not in everybody's path.
func inPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	for _, folder := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path, nil
		}
	}
	return "", err
}

// FreePort returns a port outside the range from which systems take the ports
// of outgoing connections: a client that keeps trying to connect to a port of
// that range, while its server is down, sooner or later connects to itself.
func FreePort() (int, error) {
	const first, end = 10240, 32768
	for range 100 {
		port := first + rand.IntN(end-first)
		listener, err := net.Listen("tcp", address(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("testserver: no free port from %d to %d", first, end-1)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// File is the path of a file that only the server needs.
func (s *Server) File(name string) string { return filepath.Join(s.dir, name) }

// Data is the folder of the server's own files, which the engine makes.
func (s *Server) Data() string { return s.File("data") }

func (s *Server) makeData() error { return os.Mkdir(s.Data(), 0o700) }

// command is a command that writes to the server's log.
func (s *Server) command(program string, args ...string) (*exec.Cmd, error) {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("testserver: %w", err)
	}
	command := exec.Command(program, args...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), "LC_ALL=C")
	command.Stdout, command.Stderr = log, log
	if err := s.setAttributes(command); err != nil {
		log.Close()
		return nil, err
	}
	return command, nil
}

// Run runs a command that sets the server up, as its account.
func (s *Server) Run(program string, args ...string) error {
	command, err := s.command(program, args...)
	if err != nil {
		return err
	}
	p, err := startProcess(command)
	if err != nil {
		return err
	}
	<-p.done
	if !command.ProcessState.Success() {
		return fmt.Errorf("%s: %s", filepath.Base(program), command.ProcessState)
	}
	return nil
}

// RunProgram runs the server's own program once, with other arguments.
func (s *Server) RunProgram(args ...string) error { return s.Run(s.program, args...) }

// Query asks a database by its own client, and returns the answer without the
// space around it.
func (s *Server) Query(statement string) (string, error) {
	program, args := s.engine.client(s, statement)
	command, err := s.command(program, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = command.Stderr.(io.Closer).Close() }()
	var answer bytes.Buffer
	command.Stdout = &answer
	p, err := startProcess(command)
	if err != nil {
		return "", err
	}
	<-p.done
	if !command.ProcessState.Success() {
		err = fmt.Errorf("testserver: %s: %s", statement, command.ProcessState)
	}
	return strings.TrimSpace(answer.String()), err
}

func (s *Server) logPath() string { return s.File("log") }

// LogTail is the end of the server's log.
func (s *Server) LogTail() string {
	const most = 2000
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// ErrNotReady is for servers that answer and do not serve.
var ErrNotReady = errors.New("not ready")

// locate finds the server's program, if servers are to be started.
func (e *Engine) locate() (string, error) {
	if os.Getenv(serversVariable) != "all" && !Required(e.service) {
		return "", errors.New("to start one, set " + serversVariable + "=all")
	}
	program, err := e.find()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, e.install())
	}
	return program, nil
}

// newest is the path of the highest version, /usr/lib/postgresql/15/bin/postgres
// coming after /usr/lib/postgresql/9.6/bin/postgres.
func newest(paths []string) string {
	version := func(path string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return number
	}
	return slices.MaxFunc(paths, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
}
