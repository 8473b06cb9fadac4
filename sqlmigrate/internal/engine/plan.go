package engine

import "github.com/gormflake/gormflake/sqlmigrate/plan"

// A Result is what a database's part of a plan is made of.
type Result struct {
	Tables   []plan.Table
	Blockers []plan.Blocker
	Phases   []plan.Phase
	Notes    []string
}

type (
	Table       = plan.Table      //nolint:revive // described there
	Column      = plan.Column     //nolint:revive // described there
	Blocker     = plan.Blocker    //nolint:revive // described there
	PhaseName   = plan.PhaseName  //nolint:revive // described there
	Phase       = plan.Phase      //nolint:revive // described there
	Step        = plan.Step       //nolint:revive // described there
	Statement   = plan.Statement  //nolint:revive // described there
	StageName   = plan.StageName  //nolint:revive // described there
	OnlineStage = plan.Stage      //nolint:revive // described there
	StepKind    = plan.StepKind   //nolint:revive // described there
	OnlineStep  = plan.OnlineStep //nolint:revive // described there
)

// The names of package plan.
const (
	Widen  = plan.Widen
	Detach = plan.Detach
	Guard  = plan.Guard

	StagePrepare   = plan.StagePrepare
	StageCopy      = plan.StageCopy
	StageIndex     = plan.StageIndex
	StageConstrain = plan.StageConstrain
	StageSwap      = plan.StageSwap
	StageFinish    = plan.StageFinish

	Short   = plan.Short
	Long    = plan.Long
	Batches = plan.Batches
	Verify  = plan.Verify
)
