package sqlmigrate

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/myonline"
	"github.com/gormflake/gormflake/sqlmigrate/internal/online/pgonline"
)

// onlines has one for each of GORM's dialects that can.
var onlines = map[string]engine.Online{
	"mysql":    myonline.Driver{},
	"postgres": pgonline.Driver{},
}

func onlineOf(dialect string) (engine.Online, error) {
	driver, ok := onlines[dialect]
	if !ok {
		return nil, fmt.Errorf("sqlmigrate: an online widening is not supported on %s: apply phase widen", dialect)
	}
	return driver, nil
}

func onlinePlanOf(dialect string, names []engine.TableName, move *engine.Move) *OnlinePlan {
	plan := &OnlinePlan{
		Dialect:  dialect,
		Stages:   converted(move.Plan.Stages, stageFrom),
		Blockers: converted(move.Plan.Blockers, func(b engine.Blocker) Blocker { return Blocker(b) }),
		Notes:    move.Plan.Notes,
		tables:   names,
		move:     move,
	}
	for _, t := range move.Plan.Tables {
		plan.Tables = append(plan.Tables, t.String())
	}
	return plan
}

func stageFrom(s engine.OnlineStage) OnlineStage {
	return OnlineStage{
		Name: StageName(s.Name), Text: s.Text,
		Steps: converted(s.Steps, onlineStepFrom), Back: converted(s.Back, onlineStepFrom),
	}
}

func onlineStepFrom(s engine.OnlineStep) OnlineStep {
	return OnlineStep{
		Table: s.Table, Text: s.Text, SQL: s.SQL, Locks: s.Locks,
		Short: s.Kind == engine.Short, Batches: s.Kind == engine.Batches,
		Rows: s.Rows, Bytes: s.Bytes, Disk: s.Disk, Log: s.Log, Estimate: s.Estimate,
	}
}

func statusOf(m *engine.Move) OnlineStatus {
	at := online.At(m)
	return OnlineStatus{
		Begun: true, Swapped: online.Swapped(m), Reverting: m.Back,
		Stage: StageName(at.Stage), Done: m.Done, Of: at.Of,
		Copied: m.Copied, Began: m.Began,
	}
}
