package engine

import "github.com/gormflake/gormflake/sqlmigrate/plan"

// A Result is what a database's part of a plan is made of.
type Result struct {
	Tables   []plan.Table
	Blockers []plan.Blocker
	Phases   []plan.Phase
	Notes    []string
}

// The values of package plan.
type (
	Table       = plan.Table
	Column      = plan.Column
	Blocker     = plan.Blocker
	PhaseName   = plan.PhaseName
	Phase       = plan.Phase
	Step        = plan.Step
	Statement   = plan.Statement
	StageName   = plan.StageName
	OnlineStage = plan.Stage
	StepKind    = plan.StepKind
	OnlineStep  = plan.OnlineStep
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
