package leasetest

import (
	"context"
	"os"
	"testing"

	"github.com/gormflake/gormflake/lease"
)

// A Dialer opens the store in a torture process of its own. The address is the
// one given to [Torture]. An error is tried again: the store may be down.
// closeStore is called when the process ends in order, and may be nil.
type Dialer func(ctx context.Context, address, namespace string) (store lease.Store, closeStore func(), err error)

// Main runs the tests of a package that calls [Torture]. Call it from TestMain
// and do nothing before: in a torture process it plays that process's part, by
// way of dial, and never returns.
func Main(m *testing.M, dial Dialer) {
	if text := os.Getenv(scriptVariable); text != "" {
		os.Exit(play(text, dial))
	}
	m.Run()
}

// Torture has processes of their own issue IDs under leases of the store at
// address, in a fresh namespace, and injects faults: it pauses them for longer
// than their window (SIGSTOP, SIGCONT), kills them and starts others (SIGKILL),
// ends them in order (SIGTERM), gives them clocks that are off by seconds and
// sometimes by an hour, and steps these clocks while they run. With a Server it
// kills the store too, and starts it again. It
// then reads back every ID and fails the test if
//
//   - an ID was issued twice, or a tick of a worker under two grants,
//   - an ID does not rise above those before it in its process, or is not under
//     a worker that the process was granted,
//   - a process gave up, or did not end when told to,
//   - less happened than was asked for: a torture that did nothing shows nothing.
//
// The processes are the test binary, started again: TestMain has to call
// [Main]. On systems without these signals the test is skipped.
//
// The environment variable GORMFLAKE_TEST_TORTURE=long makes the run last
// until there are two million IDs and twenty pauses longer than the window.
func Torture(t *testing.T, address string, config TortureConfig) {
	t.Helper()
	c := newTorture(t, config)
	c.report(t, runTorture(t, address, c))
}
