package testserver

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// engine is what differs from one kind of server to the next.
type engine struct {
	service string // as in GORMFLAKE_TEST_REQUIRE
	title   string
	pkg     string // Debian package
	url     string // format with the port as its operand

	find       func() (program string, err error)
	setup      func(*Server) error // once, before the first start
	args       func(*Server) []string
	answers    func(*Server) error // nil once the server serves
	stopSignal syscall.Signal
	notRoot    bool     // refuses to run as root
	env        []string // of the server itself
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

// freePort returns a port outside the range from which systems take the ports
// of outgoing connections: a client that keeps trying to connect to a port of
// that range, while its server is down, sooner or later connects to itself.
func freePort() (int, error) {
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

// data is the folder of the server's own files.
func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) makeData() error { return os.Mkdir(s.data(), 0o700) }

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

// run runs a command that sets the server up.
func (s *Server) run(program string, args ...string) error {
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

func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// lastWords is the end of the server's log.
func (s *Server) lastWords() string {
	const most = 2000
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

var errNotReady = errors.New("not ready")

// newest is the path of the highest version, /usr/lib/postgresql/15/bin/postgres
// coming after /usr/lib/postgresql/9.6/bin/postgres.
func newest(paths []string) string {
	version := func(path string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return number
	}
	return slices.MaxFunc(paths, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
}
