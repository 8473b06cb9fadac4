package testserver

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"
)

// endPatience is the time that a program may take to end.
const endPatience = 2 * time.Minute

// Build compiles the program in folder, and returns its path.
func Build(t testing.TB, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("testserver: build %s: %v\n%s", folder, err, out)
	}
	return program
}

// httpAddress matches an address without a path.
var httpAddress = regexp.MustCompile(`http://[^\s/]+`)

// Serve starts a program that prints its address in its first line, and returns the
// address, such as http://127.0.0.1:8080. At the end of the test Serve interrupts the
// program, which must end without an error.
func Serve(t testing.TB, program string, args ...string) string {
	t.Helper()
	serve := exec.Command(program, args...)
	serve.Stderr = os.Stderr
	stdout, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { interrupt(t, serve) })
	first, err := bufio.NewReader(stdout).ReadString('\n')
	address := httpAddress.FindString(first)
	if err != nil || address == "" {
		t.Fatalf("testserver: %s: no address in %q: %v", serve, first, err)
	}
	return address
}

// interrupt ends the program as Ctrl-C does, and waits for its end.
func interrupt(t testing.TB, serve *exec.Cmd) {
	if runtime.GOOS == "windows" {
		_ = serve.Process.Kill() // Windows has no signal that asks a process to end
		_ = serve.Wait()
		return
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	timer := time.AfterFunc(endPatience, func() { _ = serve.Process.Kill() })
	defer timer.Stop()
	if err := serve.Wait(); err != nil {
		t.Errorf("testserver: %s ended with %v", serve, err)
	}
}
