//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// newProcess returns a command that runs the built program in a new folder, and the
// buffer to which its standard error goes.
func newProcess(t *testing.T, program string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GORMFLAKE_DSN=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// exitCode returns the exit code of a process that has ended with err.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// TestProcess builds the program once. Its functions test claims that a test of package cli
// alone cannot, for example about signals, closed pipes and memory.
func TestProcess(t *testing.T) {
	t.Parallel()
	program := clitest.Build(t)
	for name, test := range map[string]func(*testing.T, string){
		"mistakes": processMistakes, "examples": processExamples, "closed pipe": closedPipe, "interrupt": interruptGen,
		"waiting": interruptParse, "permissions": permissions, "full disk": fullDisk,
		"memory of parse": memoryOfParse, "memory of gen": memoryOfGen, "live": liveText,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

// The program reports each command line of mistakes as package cli does.
func processMistakes(t *testing.T, program string) {
	for _, test := range mistakes() {
		cmd, stderr := newProcess(t, program, strings.Fields(test.args)...)
		out, err := cmd.Output()
		clitest.WantUsage(t, clitest.Outcome{Code: exitCode(t, err), Out: string(out), Err: stderr.String()}, test.want)
	}
}

// The examples in the help of eight commands work as printed. The folder of each example has
// a database, a log and the secret of publicid's examples.
func processExamples(t *testing.T, program string) {
	for _, command := range []string{"gen", "parse", "min", "max", "workers", "workers release", "workers ddl", "version"} {
		text := clitest.Printed(t, clitest.CommandWith(t.Context(), nil, append(strings.Fields(command), "--help")...))
		_, rest, _ := strings.Cut(text, "\nExamples:\n")
		examples, _, _ := strings.Cut(rest, "\n\n")
		if examples == "" {
			t.Errorf("%s has no example", command)
		}
		for _, line := range clitest.Lines(examples) {
			line = strings.TrimSpace(line)
			shell, stderr := newProcess(t, "/bin/sh", "-c", line)
			shell.Env = append(shell.Env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
			clitest.Records(t, "sqlite://"+filepath.Join(shell.Dir, "app.db"), map[int]lease.Record{7: {Bound: 1, Owner: "dead"}})
			for name, content := range map[string]string{"app.log": clitest.Sample(t).String(), "publicid.secret": "32 random bytes of a secret file"} {
				if err := os.WriteFile(filepath.Join(shell.Dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := shell.Output()
			if err != nil || len(out) == 0 || stderr.Len() > 0 || !strings.HasPrefix(line, "gormflake "+command) {
				t.Errorf("%s: %v, output %q, %s", line, err, out, stderr)
			}
		}
	}
}

// wantFailure waits for a process that must fail with one line.
func wantFailure(t *testing.T, cmd *exec.Cmd, stderr *bytes.Buffer, text string) {
	t.Helper()
	clitest.WantOneLine(t, clitest.Outcome{Code: exitCode(t, cmd.Wait()), Err: stderr.String()}, text)
}

// wantInterrupted waits for a process that must report an interrupt.
func wantInterrupted(t *testing.T, cmd *exec.Cmd, stderr *bytes.Buffer, text string) {
	t.Helper()
	clitest.WantInterrupted(t, clitest.Outcome{Code: exitCode(t, cmd.Wait()), Err: stderr.String()}, text)
}

// startPiped starts a command, and returns its standard output.
func startPiped(t *testing.T, cmd *exec.Cmd) io.ReadCloser {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantReleased fails the test if a worker is still held.
func wantReleased(t *testing.T, url string) {
	t.Helper()
	got := clitest.Printed(t, clitest.Command(t, "workers", "--dsn", url))
	if strings.Contains(got, "held") || !strings.Contains(got, "DATACENTER") {
		t.Errorf("the worker was not released:\n%s", got)
	}
}

// If the reader of the output ends, as head does, the command ends without an error message
// and releases its worker. Its exit code is 141, as if SIGPIPE had ended it.
func closedPipe(t *testing.T, program string) {
	url := testdb.URL(t, testdb.SQLite)
	clitest.Touch(t, url)
	log := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(log, bytes.Repeat([]byte("GET /\n"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"gen", "--dsn", url, "-n", "1000000000"},
		{"gen", "--dsn", url, "-n", "1000000000", "--json"},
		{"parse", "--file", log},
	} {
		cmd, stderr := newProcess(t, program, args...)
		out := startPiped(t, cmd)
		if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
			t.Error(err)
		}
		out.Close()
		if code := exitCode(t, cmd.Wait()); code != 141 || stderr.Len() > 0 {
			t.Errorf("%q: exit code %d and %q, want 141 and nothing", args, code, stderr)
		}
	}
	wantReleased(t, url)
}

// An interrupt or SIGTERM ends gen, which reports how many IDs it has printed, and releases
// the worker.
func interruptGen(t *testing.T, program string) {
	clitest.Servers(t, func(t *testing.T, url string) {
		clitest.Touch(t, url)
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			cmd, stderr := newProcess(t, program, "gen", "--dsn", url, "-n", "1000000000")
			out := bufio.NewReader(startPiped(t, cmd))
			if _, err := out.ReadString('\n'); err != nil {
				t.Error(err)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Error(err)
			}
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Error(err)
			}
			wantInterrupted(t, cmd, stderr, " of 1000000000 IDs")
			wantReleased(t, url)
		}
	})
}

// An interrupt ends parse even while it waits for input.
func interruptParse(t *testing.T, program string) {
	cmd, stderr := newProcess(t, program, "parse")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out := bufio.NewReader(startPiped(t, cmd))
	if _, err := io.WriteString(in, "begun\n"); err != nil {
		t.Error(err)
	}
	if line, err := out.ReadString('\n'); line != "begun\n" {
		t.Errorf("line %q: %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	wantInterrupted(t, cmd, stderr, "nothing was changed")
}

// parse prints a line as soon as it arrives, before the input ends.
func liveText(t *testing.T, program string) {
	cmd, _ := newProcess(t, program, "parse")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(startPiped(t, cmd))
	for range 3 {
		if _, err := io.WriteString(in, clitest.Sample(t).String()+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); err != nil || !strings.HasSuffix(line, " sequence 42)\n") {
			t.Fatalf("line %q: %v", line, err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A file that the user may not read is an error of a single line. If the tests run as root,
// the program runs as the user nobody.
func permissions(t *testing.T, program string) {
	file := filepath.Join(t.TempDir(), "closed")
	if err := os.WriteFile(file, nil, 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"parse", "--file", file}, {"workers", "--dsn", "sqlite://" + file}, {"gen", "--dsn", "sqlite://" + file}} {
		cmd, stderr := newProcess(t, program, args...)
		if os.Geteuid() == 0 { // root may read every file
			for _, folder := range []string{filepath.Dir(program), cmd.Dir, filepath.Dir(file)} {
				letOthersEnter(t, folder)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}} // nobody
		}
		startPiped(t, cmd)
		wantFailure(t, cmd, stderr, "permission denied")
	}
}

// letOthersEnter lets other users enter a temporary folder and its parent.
func letOthersEnter(t *testing.T, folder string) {
	t.Helper()
	for _, path := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// Standard output is /dev/full, so that every write to it fails. The commands must report
// this, because a script would otherwise use half of the output.
func fullDisk(t *testing.T, program string) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	id := clitest.Sample(t).String()
	for _, args := range []string{"gen --worker 1", "parse " + id, "parse --table " + id, "min now", "version", "workers ddl --dialect mysql", "--help", "help", "completion bash"} {
		cmd, stderr := newProcess(t, program, strings.Fields(args)...)
		cmd.Stdout = full
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wantFailure(t, cmd, stderr, "write to standard output: write /dev/stdout: no space left on device")
	}
}
