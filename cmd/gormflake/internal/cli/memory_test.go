//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
	"github.com/gormflake/gormflake/types"
)

// headroom is how much the peak memory may grow, in KB, because the collector has not freed
// all garbage yet. A command that kept its whole text would grow by more, because the texts of
// the tests are larger.
const headroom = 24 << 10

// peakMemory returns the peak memory of a process in KB. It reads /proc, because the peak in
// the rusage of a process begins with the peak of its parent.
func peakMemory(t *testing.T, cmd *exec.Cmd) (kb int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Skipf("memory cannot be measured: %v", err)
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(text, &kb); err != nil {
		t.Fatalf("no VmHWM in\n%s", status)
	}
	return kb
}

// A logReader returns endless lines of about a hundred bytes, each with two IDs.
type logReader struct {
	id   types.ID
	rest []byte // lines that were not read yet
}

func (r *logReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		var block bytes.Buffer
		for range 100 {
			r.id += 4096 // an ID of the next tick
			fmt.Fprintf(&block, "2026-11-21T12:00:00Z INFO POST /orders/%v 201 customer=%v%s\n", r.id, r.id-1, strings.Repeat(" ", 20))
		}
		r.rest = block.Bytes()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// The memory that parse uses does not grow with the number of lines, in any format of the
// output. The test compares the peaks after 1 MB and after 33 MB of text.
func memoryOfParse(t *testing.T, program string) {
	for name, test := range map[string]struct {
		in   io.Reader
		args []string
	}{
		"lines":          {in: &logReader{id: clitest.Sample(t)}},
		"lines as JSON":  {&logReader{id: clitest.Sample(t)}, []string{"--json"}},
		"lines as table": {&logReader{id: clitest.Sample(t)}, []string{"--table"}},
	} {
		cmd, stderr := newProcess(t, program, append([]string{"parse"}, test.args...)...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(in, test.in, 1<<20); err != nil {
			t.Fatal(err)
		}
		small := peakMemory(t, cmd)
		if _, err := io.CopyN(in, test.in, 32<<20); err != nil {
			t.Fatal(err)
		}
		large := peakMemory(t, cmd)
		in.Close()
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, stderr)
		}
		t.Logf("%s: %d KB after 1 MB, %d KB after 33 MB", name, small, large)
		if large > small+headroom {
			t.Errorf("%s: %d KB after 1 MB of text, %d KB after 33 MB", name, small, large)
		}
	}
}

// The memory that gen uses does not grow with the number of IDs. After the last read, the
// test closes the pipe, which ends gen with an error.
func memoryOfGen(t *testing.T, program string) {
	cmd, _ := newProcess(t, program, "gen", "--worker", "1", "-n", "1000000000")
	out := startPiped(t, cmd)
	text := bufio.NewReaderSize(out, 1<<20)
	after := func(n int) int {
		for range n {
			if _, err := text.ReadSlice('\n'); err != nil {
				t.Fatal(err)
			}
		}
		return peakMemory(t, cmd)
	}
	small := after(10_000)
	large := after(3_000_000)
	out.Close()
	_ = cmd.Wait()
	t.Logf("%d KB after 10,000 IDs, %d KB after 3,000,000", small, large)
	if large > small+headroom {
		t.Errorf("%d KB after 10,000 IDs, %d KB after 3,000,000", small, large)
	}
}
