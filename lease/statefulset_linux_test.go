package lease_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/leasetest"
)

// hostVariable makes a child of the test set its host name.
const hostVariable = "GORMFLAKE_TEST_HOST"

// WithStatefulSetWorker must take the worker from the host name of the machine, or return an
// error that contains this name. The test starts itself as a child for each host name. The
// child sets the name in a namespace of its own, as in a container.
func TestStatefulSetHost(t *testing.T) {
	if host := os.Getenv(hostVariable); host != "" {
		printWorker(t, host)
		return
	}
	t.Parallel()
	for host, want := range map[string]string{
		"web-1":                               "datacenter 1 worker 1",
		"web-1.web.default.svc.cluster.local": "datacenter 1 worker 1",
		"web-x":                               `host name "web-x" does not end in -<ordinal>`,
	} {
		child := exec.Command(os.Args[0], "-test.run=^TestStatefulSetHost$", "-test.v")
		child.Env = append(os.Environ(), hostVariable+"="+host, datacenterVariable+"=1")
		child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
		out, err := child.CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Skipf("a machine cannot be named here: %v", err)
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s, want %q", host, err, out, want)
		}
	}
}

// printWorker runs in the child. It sets the host name and prints the worker that it
// leases.
func printWorker(t *testing.T, host string) {
	if err := syscall.Sethostname([]byte(host)); err != nil {
		t.Fatal(err)
	}
	l, err := lease.Acquire(t.Context(), leasetest.NewMemory(), layout(), lease.WithStatefulSetWorker(), lease.WithLogger(discard()))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("datacenter %d worker %d\n", l.Stats().Datacenter, l.Stats().Worker)
	_ = l.Release(t.Context())
}
