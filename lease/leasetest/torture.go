package leasetest

import (
	"context"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/torture"
)

// A Dialer opens the store in a torture process of its own. The address is the
// one given to [Torture]. An error is tried again: the store may be down.
// closeStore is called when the process ends in order, and may be nil.
type Dialer func(ctx context.Context, address, namespace string) (store lease.Store, closeStore func(), err error)

// Main runs the tests of a package that calls [Torture]. Call it from TestMain
// and do nothing before: in a torture process it plays that process's part, by
// way of dial, and never returns.
func Main(m *testing.M, dial Dialer) {
	torture.Main(m, torture.Dialer(dial))
}

// A Server is a store that Torture may kill and start again. Start returns when
// the store answers. What it has acknowledged must still be there.
type Server = interface {
	Start() error
	Kill()
}

// A TortureConfig sets how much [Torture] does. Zero fields have the defaults
// given next to them; other values out of range fail the test.
type TortureConfig struct {
	Processes int // that run at a time: 8
	Workers   int // for them: 6; with fewer workers than processes they change hands all the time

	// Window is the window of the leases, and the unit in which pauses are
	// counted: a second.
	Window time.Duration

	// Skew is by how much the clocks are off, either way: three seconds. A
	// negative one means clocks that are right, but for those that are an hour
	// off.
	Skew time.Duration

	// The torture lasts at least for Duration: eight seconds, or three with
	// -short. It lasts longer, up to a limit, until there are as many IDs, and
	// as many pauses longer than the window: 20,000 and 4, or two million and
	// 20 in the long form. A negative number asks for none.
	Duration    time.Duration
	IDs, Pauses int

	// Server is killed and started again, Outages times or more: once; nil
	// leaves the store alone.
	Server  Server
	Outages int

	// LoseOneIn has each process lose one in so many answers of the store to
	// its writes, which have happened: its lease gets an error in place of the
	// answer. It is for a store without connections that could be cut. Zero
	// loses none.
	LoseOneIn int

	// Seed repeats the decisions of a torture that has logged its seed, though
	// not its timing. Zero takes another one each time.
	Seed uint64
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
	torture.Run(t, address, torture.Config(config))
}
