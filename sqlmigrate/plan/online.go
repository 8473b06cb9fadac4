package plan

import (
	"fmt"
	"strings"
	"time"
)

// StageName names a stage of an online plan.
type StageName string

// The stages, in their order.
const (
	StagePrepare   StageName = "prepare"   // new columns, kept equal to the old ones
	StageCopy      StageName = "copy"      // rows that are there already
	StageIndex     StageName = "index"     // indexes of the new columns
	StageConstrain StageName = "constrain" // NOT NULL, foreign keys, and a comparison of all rows
	StageSwap      StageName = "swap"      // the new columns take the place of the old ones
	StageFinish    StageName = "finish"    // the old ones are dropped; there is no way back
)

// A Stage is a part of an online plan. Back takes it back, whether it was done as a
// whole or in part; it is empty if there is nothing to take back, or no way to.
type Stage struct {
	Name  StageName
	Text  string
	Steps []OnlineStep
	Back  []OnlineStep `json:",omitempty"`

	// NoWayBack is why there is no Back after this stage.
	NoWayBack string `json:",omitempty"`
}

// A StepKind is the way in which an [OnlineStep] is carried out.
type StepKind string

// The kinds.
const (
	// Short locks out readers or writers for a moment, as one transaction where the
	// database can. It waits for its locks only briefly, and is tried again.
	Short StepKind = "short"

	// Long takes its time and keeps nobody from reading or writing.
	Long StepKind = "long"

	// Batches is one statement that is repeated for some rows at a time, until all
	// are done, with the bounds of each batch in the place of its parameters.
	Batches StepKind = "batches"

	// Verify is one query for one row with one number, which must be 0.
	Verify StepKind = "verify"
)

// An OnlineStep is what is done between two points from which an online plan can be
// resumed.
type OnlineStep struct {
	Table  TableName
	Text   string
	Kind   StepKind
	SQL    []string // the statements, in order
	Locks  string   // in words: what is locked, and what has to wait
	Unless string   `json:",omitempty"` // a query: true if the step is over already
	Target string   `json:",omitempty"` // of [Batches]: the table, as SQL writes it

	Rows, Bytes int64         `json:",omitempty"` // that are read or written, as the database estimates them
	Disk, Log   int64         `json:",omitempty"` // bytes by which the tables and the log grow
	Estimate    time.Duration `json:",omitempty"` // on the machine of the measurements in docs/measurements.md, under load
}

// OnlineProgress is what Apply, Finish or Revert of an online plan is about to do.
type OnlineProgress struct {
	Stage StageName
	Table TableName // empty after the last step, as is Step
	Step  string
	SQL   []string

	// Done steps of Of are over.
	Done, Of int

	// Rows of OfRows have been copied by this step, Rate of them a second, and
	// Batch at a time. OfRows is an estimate.
	Rows, OfRows int64
	Rate         float64
	Batch        int

	// Remaining is for the steps that Apply has still to do, as far as can be
	// told from what the others took.
	Remaining time.Duration

	// Waiting says what the step waits for, and is empty if it does not.
	Waiting string

	Elapsed time.Duration // since the call
}

// A Steering is what others want of an online move while it runs: it is kept in the
// database with the move, and read by it about once a second. The zero value wants
// nothing.
//
// A statement that has begun, such as the building of an index, is not stopped.
type Steering struct {
	// Paused keeps the move from beginning a batch or a step, and Revert too.
	Paused bool `json:",omitempty"`

	// HoldSwap keeps it from stage swap.
	HoldSwap bool `json:",omitempty"`

	// Stall takes the place of WithStall. Zero leaves that as it is.
	Stall time.Duration `json:",omitempty"`

	// Between are the hours in which batches and steps begin.
	Between Hours `json:",omitzero"`

	// MaxRunning is the number of statements that run on the server, the move's not
	// among them, above which the move waits. Zero is no limit.
	MaxRunning int `json:",omitempty"`
}

// Hours are a part of the day, in the local time of the process that carries the move
// out. They can include midnight. The zero value is the whole day.
type Hours struct{ From, To time.Duration } // since midnight

// ParseHours reads hours such as 22:00-06:00.
func ParseHours(text string) (Hours, error) {
	from, to, found := strings.Cut(text, "-")
	first, err := time.Parse("15:04", from)
	last, lastErr := time.Parse("15:04", to)
	if !found || err != nil || lastErr != nil || first.Equal(last) {
		return Hours{}, fmt.Errorf("plan: hours %q: want two times of the day, as 22:00-06:00", text)
	}
	return Hours{sinceMidnight(first), sinceMidnight(last)}, nil
}

// Contains reports whether t is in the hours.
func (h Hours) Contains(t time.Time) bool {
	at := sinceMidnight(t)
	switch {
	case h == Hours{}:
		return true
	case h.From < h.To:
		return h.From <= at && at < h.To
	default:
		return h.From <= at || at < h.To
	}
}

// String is the form that [ParseHours] reads.
func (h Hours) String() string {
	clock := func(d time.Duration) string { return time.Time{}.Add(d).Format("15:04") }
	return clock(h.From) + "-" + clock(h.To)
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}
