package plan

import (
	"fmt"
	"strings"
	"time"
)

// A StageName names a stage of an online plan.
type StageName string

// The stages, in their order.
const (
	StagePrepare   StageName = "prepare"   // add new columns or tables, which triggers keep equal to the old ones
	StageCopy      StageName = "copy"      // copy the existing rows
	StageIndex     StageName = "index"     // build the indexes of the new columns or tables
	StageConstrain StageName = "constrain" // add NOT NULL and foreign keys, and compare all rows
	StageSwap      StageName = "swap"      // put the new columns or tables in the place of the old ones
	StageFinish    StageName = "finish"    // drop the old columns or tables; after that, the move cannot be reverted
)

// A Stage is a part of an online plan. Steps carry the stage out. Back takes the stage
// back, even if only some of the steps have been done. Back is empty if there is nothing to
// take back, or if the stage cannot be taken back.
type Stage struct {
	Name  StageName
	Text  string
	Steps []OnlineStep
	Back  []OnlineStep `json:",omitempty"`

	// NoWayBack is the reason why the stage cannot be taken back, for example because it
	// drops the old columns. It is empty for a stage that can be taken back.
	NoWayBack string `json:",omitempty"`
}

// A StepKind says how an [OnlineStep] is run.
type StepKind string

// The kinds of steps.
const (
	// A Short step blocks readers or writers for a moment. It is one transaction if the
	// database has transactions for such statements. It waits only briefly for its locks,
	// and is tried again if it does not get them.
	Short StepKind = "short"

	// A Long step takes time, but does not block readers or writers.
	Long StepKind = "long"

	// A Batches step repeats one statement for a few rows at a time until all rows are
	// done. The parameters of the statement are the bounds of the batch.
	Batches StepKind = "batches"

	// A Verify step counts wrong rows. Its first statement is a query for this number, which
	// must be 0. Some Verify steps have two further queries, which a driver runs before the
	// first, because they show faster that two tables are equal. The second query compares
	// the tables between two keys, and the third finds the key at which such a range ends.
	Verify StepKind = "verify"
)

// An OnlineStep is the work between two points at which an online plan can be resumed.
type OnlineStep struct {
	Table  TableName
	Text   string
	Kind   StepKind
	SQL    []string // the statements, in order
	Locks  string   // the locks, and the statements that have to wait for them, in words
	Unless string   `json:",omitempty"` // a query that returns true if the step has already been done
	Target string   `json:",omitempty"` // of a [Batches] step, the table as SQL writes it

	Rows, Bytes int64         `json:",omitempty"` // the rows and bytes that the step reads or writes, estimated by the database
	Disk, Log   int64         `json:",omitempty"` // the bytes by which the tables and the log grow
	Estimate    time.Duration `json:",omitempty"` // the duration under load on the machine that docs/measurements.md names
}

// OnlineProgress describes the step that Apply, Finish or Revert of an online plan runs
// next.
type OnlineProgress struct {
	Stage StageName
	Table TableName // empty after the last step, like Step
	Step  string
	SQL   []string

	// Done is the number of completed steps, out of Of.
	Done, Of int

	// Rows is the number of rows that this step has copied, out of about OfRows. Rate is
	// rows per second, and Batch is the present size of a batch.
	Rows, OfRows int64
	Rate         float64
	Batch        int

	// Remaining is the estimated time of the steps that this call of Apply, Finish or
	// Revert still has to run. The estimate is corrected by the time that the completed
	// steps took.
	Remaining time.Duration

	// Waiting names the event for which the step waits. It is empty if the step does not
	// wait.
	Waiting string

	Elapsed time.Duration // the time since the call
}

// A Pace says how much of the database's time a move leaves to programs.
type Pace string

// The paces.
const (
	PacePolite Pace = "polite" // the copy rests after each batch for as long as the batch took
	PaceFull   Pace = "full"   // the copy rests only while the disk is slow
)

// A Steering holds the requests of an operator to an online move while the move runs. The
// database stores it with the move, and the process that runs the move reads it about once
// a second. The zero value has no request.
//
// A statement that has begun, such as building an index, is not interrupted.
type Steering struct {
	// Paused makes the move wait before its next batch or step. Unlike HoldSwap, Between
	// and MaxRunning, it also applies to Revert.
	Paused bool `json:",omitempty"`

	// HoldSwap makes the move wait before stage swap.
	HoldSwap bool `json:",omitempty"`

	// Stall replaces the value of WithStall. With zero, the value of WithStall applies.
	Stall time.Duration `json:",omitempty"`

	// Pace replaces the value of WithPace. If it is empty, the value of WithPace applies.
	Pace Pace `json:",omitempty"`

	// Between are the hours of the day in which batches and steps may begin.
	Between Hours `json:",omitzero"`

	// MaxRunning is the largest number of running statements on the server at which the
	// move continues; with more, it waits. The move's own statements do not count. Zero
	// means no limit.
	MaxRunning int `json:",omitempty"`
}

// Hours are a part of the day, in the local time of the process that runs the move. If From
// is later than To, the hours include midnight, for example from 22:00 to 06:00. The zero
// value is the whole day.
type Hours struct{ From, To time.Duration } // since midnight

// ParseHours reads hours in the form 22:00-06:00. Both times must differ.
func ParseHours(text string) (Hours, error) {
	from, to, found := strings.Cut(text, "-")
	first, err := time.Parse("15:04", from)
	last, lastErr := time.Parse("15:04", to)
	if !found || err != nil || lastErr != nil || first.Equal(last) {
		return Hours{}, fmt.Errorf("plan: hours %q: want two times of the day, as 22:00-06:00", text)
	}
	return Hours{sinceMidnight(first), sinceMidnight(last)}, nil
}

// Contains reports whether the time of day of t is within the hours. From is included, To
// is not. The zero value contains every time.
func (h Hours) Contains(t time.Time) bool {
	at := sinceMidnight(t)
	switch {
	case h == Hours{}:
		return true
	case h.From < h.To:
		return h.From <= at && at < h.To
	default: // the hours include midnight
		return h.From <= at || at < h.To
	}
}

// String returns the hours in the form that [ParseHours] reads. For the zero value it
// returns 00:00-00:00, which ParseHours refuses.
func (h Hours) String() string {
	clock := func(d time.Duration) string { return time.Time{}.Add(d).Format("15:04") }
	return clock(h.From) + "-" + clock(h.To)
}

// sinceMidnight returns the time of day of t in hours and minutes, without seconds.
func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}
