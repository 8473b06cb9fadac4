package migrate

import (
	"fmt"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A statusJSON is the output of --json for the commands of an online move. If no move has
// begun, UnderWay is false and all other fields are zero.
type statusJSON struct {
	UnderWay  bool          `json:"under_way"`
	Began     string        `json:"began,omitempty"`
	Reverting bool          `json:"reverting"`
	Swapped   bool          `json:"swapped"`
	Stage     string        `json:"stage,omitempty"` // the stage of the next step
	StepsDone int           `json:"steps_done"`
	Steps     int           `json:"steps"`
	RowsDone  int64         `json:"rows_done"` // that the next step has copied
	Rows      int64         `json:"rows"`      // of the next step, estimated
	Rate      float64       `json:"rows_per_second"`
	Waits     int64         `json:"lag_waits"`
	Remaining int64         `json:"remaining_ms"`
	Steering  *steeringJSON `json:"steering,omitempty"`
}

// A steeringJSON holds the requests that the commands pause, resume and throttle have made to
// a move.
type steeringJSON struct {
	Paused     bool   `json:"paused"`
	HoldSwap   bool   `json:"hold_swap"`
	StallMS    int64  `json:"stall_ms,omitempty"`
	Pace       string `json:"pace,omitempty"`
	Between    string `json:"between,omitempty"`
	MaxRunning int    `json:"max_running,omitempty"`
}

// statusAsJSON returns the output of "migrate online status --json", which other commands of an
// online move print too.
func statusAsJSON(s sqlmigrate.OnlineStatus) statusJSON {
	if !s.Begun {
		return statusJSON{}
	}
	// The fifth field, Between, is set below unless it is zero, the whole day.
	steering := steeringJSON{s.Steering.Paused, s.Steering.HoldSwap, s.Steering.Stall.Milliseconds(), string(s.Steering.Pace), "", s.Steering.MaxRunning}
	if s.Steering.Between != (plan.Hours{}) {
		steering.Between = s.Steering.Between.String()
	}
	// The values are in the order of the fields, beginning with UnderWay.
	return statusJSON{
		true, terminal.Stamp(s.Began), s.Reverting, s.Swapped, string(s.Stage), s.Done, s.Of,
		s.Copied, s.OfRows, s.Rate, s.Waits, s.Remaining.Milliseconds(), &steering,
	}
}

// onlineAsJSON returns the output of "migrate online plan --json".
func onlineAsJSON(o *sqlmigrate.OnlinePlan) any {
	took, disk, log := o.Estimate() // the time, and the bytes by which the tables and the log grow
	// A Plan, but not an OnlinePlan, groups its blockers by object.
	blockers := (&sqlmigrate.Plan{Blockers: o.Blockers}).BlockingObjects()
	return struct {
		Dialect    string   `json:"dialect"`
		Tables     []string `json:"tables"`
		Blockers   []any    `json:"blockers"`
		Notes      []string `json:"notes"`
		EstimateMS int64    `json:"estimate_ms"`
		DiskBytes  int64    `json:"disk_bytes"`
		LogBytes   int64    `json:"log_bytes"`
		Stages     []any    `json:"stages"`
	}{o.Dialect, o.Tables, convertAll(blockers, blockerAsJSON), nonNil(o.Notes), took.Milliseconds(), disk, log, convertAll(o.Stages, stageAsJSON)}
}

// stageAsJSON returns a stage of an online plan, with its steps and the steps that take it
// back.
func stageAsJSON(s sqlmigrate.OnlineStage) any {
	return struct {
		Name      string `json:"name"`
		Text      string `json:"text"`
		Steps     []any  `json:"steps"`
		Back      []any  `json:"back"`
		NoWayBack string `json:"no_way_back,omitempty"`
	}{string(s.Name), s.Text, convertAll(s.Steps, onlineStepAsJSON), convertAll(s.Back, onlineStepAsJSON), s.NoWayBack}
}

// onlineStepAsJSON returns a step of a stage, with its statements.
func onlineStepAsJSON(s plan.OnlineStep) any {
	return struct {
		Table      string   `json:"table"`
		Text       string   `json:"text"`
		Kind       string   `json:"kind"`
		SQL        []string `json:"sql"`
		Locks      string   `json:"locks,omitempty"`
		Rows       int64    `json:"rows"`
		Bytes      int64    `json:"bytes"`
		EstimateMS int64    `json:"estimate_ms"`
	}{fmt.Sprint(s.Table), s.Text, string(s.Kind), nonNil(s.SQL), s.Locks, s.Rows, s.Bytes, s.Estimate.Milliseconds()}
}
