package sqlmigrate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// Apply, Finish and Revert reject an invalid option before they read the database.
func TestOnlineOptionsAreChecked(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	for name, test := range map[string]struct {
		opt  sqlmigrate.OnlineOption
		want string
	}{
		"no rows":              {sqlmigrate.WithBatchRows(0, 10), "WithBatchRows(0, 10): want at least 1, and the second number no smaller than the first"},
		"rows below zero":      {sqlmigrate.WithBatchRows(-2, -1), "WithBatchRows(-2, -1): want at least 1, and the second number no smaller than the first"},
		"rows in wrong order":  {sqlmigrate.WithBatchRows(5, 4), "WithBatchRows(5, 4): want at least 1, and the second number no smaller than the first"},
		"no stall":             {sqlmigrate.WithStall(0), "WithStall(0s): want more than zero"},
		"stall below zero":     {sqlmigrate.WithStall(-time.Second), "WithStall(-1s): want more than zero"},
		"unknown pace":         {sqlmigrate.WithPace("fast"), `WithPace: unknown pace "fast": want polite or full`},
		"no pace":              {sqlmigrate.WithPace(""), `WithPace: unknown pace "": want polite or full`},
		"lag below zero":       {sqlmigrate.WithMaxLag(-1), "WithMaxLag(-1ns): want zero or more"},
		"no replica":           {sqlmigrate.WithReplicas(nil), "WithReplicas: sqlmigrate: db is nil or was not opened: want the handle that gorm.Open returned"},
		"other replica":        {sqlmigrate.WithReplicas(sqlite(t)), "WithReplicas: a handle of sqlite: want one of MariaDB or MySQL with its pool; PostgreSQL knows its replicas"},
		"tries below zero":     {sqlmigrate.WithRetryFor(-1), "WithRetryFor(-1ns): want zero or more"},
		"short wait for locks": {sqlmigrate.WithLockTimeout(time.Millisecond - 1), "WithLockTimeout(999.999µs): want a millisecond or more"},
		"last stage":           {sqlmigrate.WithLastStage(sqlmigrate.StageFinish), `WithLastStage: unknown stage "finish": want prepare, copy, index, constrain or swap`},
		"unknown stage":        {sqlmigrate.WithLastStage("swapp"), `WithLastStage: unknown stage "swapp": want prepare, copy, index, constrain or swap`},
		"no function":          {sqlmigrate.WithOnlineProgress(nil), "WithOnlineProgress(nil): want a function"},
		"no option":            {nil, "option 1 is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := &sqlmigrate.OnlinePlan{Dialect: "postgres"}
			for call, err := range map[string]error{
				"Apply":  plan.Apply(t.Context(), db, test.opt),
				"Finish": plan.Finish(t.Context(), db, test.opt),
				"Revert": plan.Revert(t.Context(), db, test.opt),
			} {
				if want := "sqlmigrate: " + test.want; err == nil || err.Error() != want {
					t.Errorf("%s: got %v, want %s", call, err, want)
				}
			}
		})
	}
}

// The error of Apply contains the mistakes of all options, one in each line.
func TestOnlineOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	err := new(sqlmigrate.OnlinePlan).Apply(t.Context(), sqlite(t), sqlmigrate.WithStall(0), sqlmigrate.WithStall(1), sqlmigrate.WithMaxLag(-1))
	if want := "sqlmigrate: WithStall(0s): want more than zero\nsqlmigrate: WithMaxLag(-1ns): want zero or more"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Values at the limits of the options are valid. The error that the test expects is about the
// database, and comes after the options have been accepted.
func TestOnlineOptionsAtTheirLimits(t *testing.T) {
	t.Parallel()
	err := (&sqlmigrate.OnlinePlan{Dialect: "postgres"}).Apply(t.Context(), sqlite(t),
		sqlmigrate.WithBatchRows(1, 1), sqlmigrate.WithBatchRows(50, 10_000), sqlmigrate.WithStall(1), sqlmigrate.WithPace(sqlmigrate.PacePolite), sqlmigrate.WithPace(sqlmigrate.PaceFull), sqlmigrate.WithMaxLag(0),
		sqlmigrate.WithRetryFor(0), sqlmigrate.WithLockTimeout(time.Millisecond),
		sqlmigrate.WithLastStage(sqlmigrate.StagePrepare), sqlmigrate.WithLastStage(sqlmigrate.StageCopy), sqlmigrate.WithLastStage(sqlmigrate.StageIndex),
		sqlmigrate.WithLastStage(sqlmigrate.StageConstrain), sqlmigrate.WithLastStage(sqlmigrate.StageSwap),
		sqlmigrate.WithOnlineProgress(func(sqlmigrate.OnlineProgress) {}))
	if want := "sqlmigrate: the plan is for postgres and db is sqlite"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want that the options are accepted, and %q", err, want)
	}
}
