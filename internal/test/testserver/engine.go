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

// Engine contains the properties and operations in which the kinds of servers differ. A
// cluster changes the operations that its members do differently from a single server.
type Engine struct {
	SetUp   func(*Server) error    // once, before the first start
	Args    func(*Server) []string // at every start
	Answers func(*Server) error    // returns nil once the server is ready
	Account string                 // account that runs it instead of root; its Debian package creates it

	service    string // name in GORMFLAKE_TEST_REQUIRE
	title      string // name in messages
	pkg        string // Debian package, or ""
	getCommand string // the command that gets the program, if there is no package
	url        string // format with the port as its operand

	find       func() (program string, err error)                                // returns the path of the program
	client     func(s *Server, statement string) (program string, args []string) // client of a database
	stopSignal syscall.Signal                                                    // asks the server to end
	env        []string                                                          // of the server process
	version    []string                                                          // arguments with which the program prints its version; nil for a database, whose version a query returns
}

// EngineOf returns the engine of a service, by its name in GORMFLAKE_TEST_REQUIRE.
func EngineOf(service string) Engine {
	return *engines[slices.IndexFunc(engines, func(e *Engine) bool { return e.service == service })]
}

// install returns the command that installs the engine.
func (e *Engine) install() string {
	if e.pkg == "" {
		return e.getCommand
	}
	return "apt-get install " + e.pkg
}

// inPath returns the path of a program. It searches PATH, and the folders for system
// programs, which are not in every user's PATH.
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

// FreePort returns a port that no other test process gets until this process ends. The port is
// outside the range of ports for outgoing connections. A client that keeps connecting to a port
// of that range, while its server is down, sooner or later connects to itself.
func FreePort() (int, error) {
	const first, end = 10240, 32768
	for range 100 {
		port := first + rand.IntN(end-first)
		ok, err := reserve(port)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		listener, err := net.Listen("tcp", address(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("testserver: no free port from %d to %d", first, end-1)
}

// address returns the address of a port of this machine, host:port.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// File returns the path of a file in the server's folder.
func (s *Server) File(name string) string { return filepath.Join(s.dir, name) }

// Data returns the folder of the server's own files, which the engine creates.
func (s *Server) Data() string { return s.File("data") }

// makeData creates the data folder. It is the SetUp of servers that create their files in
// it themselves.
func (s *Server) makeData() error { return os.Mkdir(s.Data(), 0o700) }

// command returns a command that writes to the server's log.
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

// Run runs a command that sets the server up, under the server's account.
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

// Query runs a statement by the database's own client, and returns its output without
// surrounding space.
func (s *Server) Query(statement string) (string, error) {
	program, args := s.engine.client(s, statement)
	command, err := s.command(program, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = command.Stderr.(io.Closer).Close() }() // startProcess only closes Stdout
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

// logPath returns the file to which the server and the commands that set it up write.
func (s *Server) logPath() string { return s.File("log") }

// LogTail returns the end of the server's log.
func (s *Server) LogTail() string {
	const most = 2000
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// ErrNotReady is the error of servers that answer but are not ready.
var ErrNotReady = errors.New("not ready")

// locate returns the path of the server's program. It returns an error if the environment
// does not allow tests to start servers.
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

// newest returns the path with the highest version. For example,
// /usr/lib/postgresql/15/bin/postgres is newer than /usr/lib/postgresql/9.6/bin/postgres.
func newest(paths []string) string {
	version := func(path string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return number
	}
	return slices.MaxFunc(paths, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
}
