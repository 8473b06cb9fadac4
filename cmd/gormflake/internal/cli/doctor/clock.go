package doctor

import (
	"fmt"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

const (
	clockCheck = "clock"

	clockProbes  = 5
	clockWarning = 500 * time.Millisecond
	clockProblem = time.Minute
)

// checkClock compares the clocks. Clocks that differ repeat no ID; but times
// in IDs are then wrong, and a process waits for workers that are free.
func (d *doctor) checkClock() {
	if d.Dialect == "sqlite" {
		d.report.ok(clockCheck, "", "SQLite runs in this process and has this machine's clock")
		return
	}
	d.compareClocks(d.Clock)
}

func (d *doctor) compareClocks(ask func() (time.Time, error)) {
	ahead, open, err := d.measureClock(ask)
	if err != nil {
		d.unseen(clockCheck, "", err)
		return
	}
	text := fmt.Sprintf("this machine's clock is %s the database's, measured within %v", terminal.Difference(ahead), terminal.Rounded(open))
	switch sure := ahead.Abs() - open; {
	case sure >= clockProblem:
		d.report.problem(clockCheck, "", text, "synchronise both clocks, as by NTP; until then times in IDs are wrong, and leased workers seem held or free when they are not")
	case sure >= clockWarning:
		d.report.warn(clockCheck, "", text, "synchronise both clocks, as by NTP")
	default:
		d.report.ok(clockCheck, "", text)
	}
}

// measureClock returns how far this machine's clock is ahead, from the fastest
// of some probes, and how wrong that may be.
func (d *doctor) measureClock(ask func() (time.Time, error)) (ahead, open time.Duration, err error) {
	for probe := range clockProbes {
		before := d.flags.now()
		theirs, err := ask()
		if err != nil {
			return 0, 0, err
		}
		half := d.flags.now().Sub(before) / 2
		if probe == 0 || half < open {
			ahead, open = before.Add(half).Sub(theirs), half
		}
	}
	return ahead, open, nil
}
