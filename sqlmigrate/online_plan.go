package sqlmigrate

import (
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An OnlinePlan does the work of phase [Widen] while programs read and write. It adds new
// columns, or creates new tables, fills them in the background, and puts them in the
// place of the old ones in a moment. It takes longer than Widen, and needs more disk.
// Phases [Detach] and [Guard] follow as after Widen.
//
// From its first change on, the plan is stored in the database together with its
// progress. After an error, a kill or the end of the context, the next call of Apply,
// Finish or Revert resumes at the stored progress.
type OnlinePlan struct {
	// Dialect is GORM's name of the database: postgres, or mysql for MariaDB and MySQL.
	Dialect string

	// Tables are the tables that the plan widens.
	Tables []string

	// Blockers are the objects because of which the plan cannot be applied. If there is a
	// blocker and the move has not begun, no method changes the database.
	Blockers []Blocker

	// Stages are the stages of the move, in order. Finish runs the last stage, Apply all
	// stages before it.
	Stages []OnlineStage

	// Notes are facts to know before applying the plan.
	Notes []string

	tables []plan.TableName // the tables by which the stored move is found
	move   *engine.Move     // nil if [FindOnline] has found no move
}

type (
	// A StageName names a stage of an [OnlinePlan].
	StageName = plan.StageName
	// An OnlineStage is a part of an [OnlinePlan].
	OnlineStage = plan.Stage
	// An OnlineStep is the work between two points at which an [OnlinePlan] can be
	// resumed.
	OnlineStep = plan.OnlineStep
	// OnlineProgress describes the step that [OnlinePlan.Apply], Finish or Revert runs
	// next.
	OnlineProgress = plan.OnlineProgress
	// OnlineSteering holds the requests to a running move, see [OnlinePlan.Steer].
	OnlineSteering = plan.Steering
	// A Pace says how much of the database's time a move leaves to programs.
	Pace = plan.Pace
)

// The paces, see [WithPace].
const (
	PacePolite = plan.PacePolite
	PaceFull   = plan.PaceFull
)

// The stages, in their order.
const (
	StagePrepare   = plan.StagePrepare
	StageCopy      = plan.StageCopy
	StageIndex     = plan.StageIndex
	StageConstrain = plan.StageConstrain
	StageSwap      = plan.StageSwap
	StageFinish    = plan.StageFinish
)

// An OnlineStatus is the progress of an online move.
type OnlineStatus struct {
	// Begun reports whether anything has been changed. Swapped reports whether the new
	// columns have taken the place of the old columns.
	Begun, Swapped bool

	// Reverting is true once Revert has begun. From then on, only Revert can continue the
	// move.
	Reverting bool

	// Stage is the stage of the next step, and empty if all steps are done. Done is the
	// number of completed steps, out of Of. If Reverting is true, these are the steps of
	// Revert, otherwise the steps of Apply and Finish.
	Stage    StageName
	Done, Of int

	// Copied is the number of rows that the next step has written so far, if the step
	// works in batches. OfRows is the estimated number of all rows of the step.
	Copied, OfRows int64

	// Rate is the number of rows per second that the next step copies, as the process
	// that copies, or that copied last, has measured. It is 0 if the next step has not
	// copied rows yet.
	Rate float64

	// Waits counts the batches that waited for replicas, see [WithMaxLag].
	Waits int64

	// Remaining is the estimated time until the end of the swap, or of Revert. It is
	// computed from Rate for the next step, and from the estimates of the plan for the
	// steps after it.
	Remaining time.Duration

	Began time.Time // when the first Apply began

	// Steering holds the present requests to the move, see [OnlinePlan.Steer].
	Steering OnlineSteering
}

// newOnlinePlan returns the plan of a move. move may be nil, which FindOnline passes if
// there is no move.
func newOnlinePlan(dialect string, tables []plan.TableName, move *engine.Move) *OnlinePlan {
	o := &OnlinePlan{Dialect: dialect, tables: tables, move: move}
	if move != nil {
		o.Tables = engine.Converted(move.Plan.Tables, plan.TableName.String)
		o.Stages, o.Blockers, o.Notes = move.Plan.Stages, move.Plan.Blockers, move.Plan.Notes
	}
	return o
}

// Empty reports whether the plan has no stages, so that neither Apply nor Finish has work
// to do.
func (o *OnlinePlan) Empty() bool { return len(o.Stages) == 0 }

// Err returns nil, or one error that names every blocker, each on its own line.
func (o *OnlinePlan) Err() error { return errorOf(o.Blockers) }

// Estimate returns the sum of the estimates of all steps. disk and log are the bytes by
// which the tables and the log grow until Finish.
func (o *OnlinePlan) Estimate() (took time.Duration, disk, log int64) {
	for _, stage := range o.Stages {
		for _, s := range stage.Steps {
			took, disk, log = took+s.Estimate, disk+s.Disk, log+s.Log
		}
	}
	return took, disk, log
}
