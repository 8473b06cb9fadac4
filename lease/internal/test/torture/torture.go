// Package torture implements leasetest.Torture. It starts processes that issue IDs under
// leases, pauses, kills and ends them, and afterwards compares the IDs that they have
// written to their journals.
//
//	runner    the test process: starts the processes and injects faults
//	child     a torture process as the runner sees it
//	process   the work of a torture process, which a script describes
//	journal   the file to which a torture process writes its IDs
//	findings  the comparison of all journals
package torture

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/lease"
)

// A Dialer opens the store in a torture process.
type Dialer func(ctx context.Context, address, namespace string) (store lease.Store, closeStore func(), err error)

// Main runs the tests, or a torture process if [Run] has started the binary as such.
func Main(m *testing.M, dial Dialer) {
	if text := os.Getenv(scriptVariable); text != "" {
		os.Exit(play(text, dial))
	}
	m.Run()
}

// Run runs a torture of the store at address, and fails the test if the protocol is
// broken.
func Run(t *testing.T, address string, config Config) {
	t.Helper()
	c := newTorture(t, config)
	c.report(t, runTorture(t, address, c))
}

// FreshNamespace returns a name that begins with prefix and that no earlier run has
// used.
func FreshNamespace(prefix string) string {
	return prefix + "-" + strings.ToLower(rand.Text()[:16])
}
