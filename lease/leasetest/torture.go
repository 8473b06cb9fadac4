package leasetest

import (
	"context"
	"testing"
	"time"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/test/torture"
)

// A Dialer opens the store in a torture process. The address is the address given to
// [Torture]. After an error it is called again, because the store may be down.
// closeStore is called when the process ends in order, and may be nil.
type Dialer func(ctx context.Context, address, namespace string) (store lease.Store, closeStore func(), err error)

// Main runs the tests of a package that calls [Torture]. Call it from TestMain before
// anything else. In a torture process it runs that process's work instead, on the store
// that dial opens, and never returns.
func Main(m *testing.M, dial Dialer) {
	torture.Main(m, torture.Dialer(dial))
}

// A Server is a store that Torture may kill and start again. Start returns when the
// store answers. Acknowledged writes must survive.
type Server = interface {
	Start() error
	Kill()
}

// A TortureConfig sets how much [Torture] does. Zero fields mean the defaults given
// after the colon; other values out of range fail the test.
type TortureConfig struct {
	Processes int // that run at a time: 8
	Workers   int // for these processes: 6; with fewer workers than processes they often change hands

	// Window is the window of the leases, and the unit in which pauses are counted: a
	// second.
	Window time.Duration

	// Skew is the largest error of the clocks, in both directions: three seconds. If it
	// is negative the clocks are right, except the clocks that are an hour off.
	Skew time.Duration

	// The torture lasts at least for Duration: eight seconds, or three with -short. It
	// lasts longer, up to a limit, until the processes have issued at least as many IDs as
	// the field IDs, and Pauses counts the pauses longer than the window: 20,000 and 4, or
	// two million and 20 in the long form. A negative number means no minimum.
	Duration    time.Duration
	IDs, Pauses int

	// Server is killed and started again at least Outages times: once. If Server is
	// nil, the store is left running.
	Server  Server
	Outages int

	// LoseOneIn makes each process lose one in so many answers to its writes. The write
	// has happened, but its lease gets an error. Use it for a store without connections
	// that could be cut. Zero loses no answer.
	LoseOneIn int

	// Seed repeats the decisions of an earlier torture, which has logged its seed, but
	// not its timing. Zero chooses a new seed each time.
	Seed uint64
}

// Torture starts processes that issue IDs under leases of the store at address, in a
// fresh namespace, and injects faults. It pauses processes for longer than their window
// (SIGSTOP, SIGCONT), kills processes and starts others (SIGKILL), ends processes in
// order (SIGTERM), gives them clocks that are off by seconds and sometimes by an hour,
// and steps these clocks. With a Server it also kills the store and starts it again. It
// then reads back every ID and fails the test if
//
//   - an ID was issued twice, or a tick of a worker under two grants,
//   - an ID is not above the previous IDs of its process, or belongs to a worker that the
//     process was not granted,
//   - a process gave up, or did not end when told to,
//   - fewer IDs, pauses or outages happened than the config asks for.
//
// The processes run the test binary, so TestMain has to call [Main]. On systems without
// these signals the test is skipped.
//
// The environment variable GORMFLAKE_TEST_TORTURE=long makes the run last until there
// are two million IDs and twenty pauses longer than the window.
func Torture(t *testing.T, address string, config TortureConfig) {
	t.Helper()
	torture.Run(t, address, torture.Config(config))
}
