//go:build linux

package stall_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gormflake/gormflake/internal/test/stall"
)

// stoppedChild makes a second process of this test binary the process that is stopped.
const stoppedChild = "GORMFLAKE_TEST_STALL_CHILD"

// TestSince checks that Since reports about half a second for a process that was stopped
// for half a second.
func TestSince(t *testing.T) {
	if os.Getenv(stoppedChild) != "" {
		began := time.Now()
		fmt.Println("begun")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println(stall.Since(began).Milliseconds(), time.Since(began).Milliseconds())
		os.Exit(0)
	}
	t.Parallel()
	child := exec.Command(os.Args[0], "-test.run=^TestSince$")
	child.Env = append(os.Environ(), stoppedChild+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var begun string
	if _, err := fmt.Fscan(out, &begun); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	for _, signal := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := child.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	in.Close()
	var held, took int64
	if _, err := fmt.Fscan(out, &held, &took); err != nil {
		t.Fatal(err)
	}
	if most := time.Since(stopped).Milliseconds(); held < 400 || held > most || took < held {
		t.Errorf("held up for %d ms of %d: want 400 to %d", held, took, most)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// TestTook checks that Took is at most the time since began, and that Took and Since
// together are at least the 200 ms for which the test has slept.
func TestTook(t *testing.T) {
	t.Parallel()
	began := time.Now()
	time.Sleep(200 * time.Millisecond)
	if took := stall.Took(began); took > time.Since(began) || took+stall.Since(began) < 200*time.Millisecond {
		t.Errorf("took %v without stalls, and %v with them: want 200ms or more in all", took, time.Since(began))
	}
}
