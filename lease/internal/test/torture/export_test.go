package torture

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/gormflake/gormflake/snowflake"
)

// Findings runs a torture and returns its findings without a report.
func Findings(t *testing.T, address string, config Config) *findings {
	t.Helper()
	return runTorture(t, address, newTorture(t, config))
}

// An Entry is an entry of a journal.
type Entry = entry

// Markers of events.
var (
	Started = markerOf(started, 0)
	Refused = markerOf(refused, 0)
	Stepped = markerOf(stepped, 1)
	Lost    = markerOf(lost, 3)
)

// testEpoch is the moment from which the tests count ticks.
const testEpoch = 1_760_000_000_000

// ID returns the entry of an ID in the given tick, in milliseconds after testEpoch.
func ID(worker, tick, sequence int64) Entry {
	id, err := layout.Compose(snowflake.Parts{Time: time.UnixMilli(testEpoch + tick), Worker: worker, Sequence: sequence})
	if err != nil {
		panic(err)
	}
	return Entry(id)
}

// Grant returns the marker of a grant that replaces a grant whose window ended at the
// boundary.
func Grant(worker, boundary int64) Entry { return grantMarker(worker, testEpoch+boundary) }

// Examine writes the entries of each process, and some bytes of an incomplete entry, to
// a journal, and examines the journals.
func Examine(t *testing.T, processes ...[]Entry) *findings {
	t.Helper()
	r := &runner{began: time.Now()}
	for number, entries := range processes {
		c := &child{number: number, journal: filepath.Join(t.TempDir(), "journal")}
		j, err := openJournal(c.journal)
		if err != nil {
			t.Fatal(err)
		}
		r.children = append(r.children, c)
		err = j.append(entries, nil)
		_, cutErr := j.file.WriteString("cut")
		if err := errors.Join(err, cutErr, j.close()); err != nil {
			t.Fatal(err)
		}
	}
	return r.examine()
}

// Judge reports findings for a torture with this config.
func Judge(t *testing.T, f *findings, config Config) {
	t.Helper()
	newTorture(t, config).report(t, f)
}

// Counts are the findings that tests compare.
type Counts struct{ IDs, Grants, Workers, Refusals, Steps, Duplicates, Shared, Falling, Strangers int }

// Counts returns the findings that tests compare.
func (f *findings) Counts() Counts {
	return Counts{f.ids, f.grants, f.workers, f.refusals, f.steps, f.duplicates, f.shared, f.falling, f.strangers}
}
