package migrate

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// runFlags holds the flags that apply and revert share.
type runFlags struct {
	phases      phasesFlag
	confirm     flags.Confirm
	lockTimeout time.Duration // for how long a statement waits for a lock; 0 for the database's own setting
	retryFor    time.Duration // for how long a statement is tried again after that; 0 for no second try
}

// register adds the flags to a command.
func (f *runFlags) register(cmd *cobra.Command) {
	f.phases.register(cmd)
	f.confirm.Register(cmd)
	cmd.Flags().DurationVar(&f.lockTimeout, "lock-timeout", 5*time.Second, "how long a statement waits for a lock, and others wait behind it; 0: as the database is set to")
	cmd.Flags().DurationVar(&f.retryFor, "retry-for", 2*time.Minute, "how long to try again after that, with pauses; 0: not at all")
}

// check returns an error if the flags are invalid.
func (f *runFlags) check() error {
	if f.lockTimeout < 0 {
		return terminal.Usagef("--lock-timeout %v: want zero or more", f.lockTimeout)
	}
	if f.retryFor < 0 {
		return terminal.Usagef("--retry-for %v: want zero or more", f.retryFor)
	}
	return f.phases.check()
}

// An applyOrRevert is [sqlmigrate.Plan.Apply] or [sqlmigrate.Plan.Revert].
type applyOrRevert func(*sqlmigrate.Plan, context.Context, *gorm.DB, ...sqlmigrate.ApplyOption) error

// run applies or reverts the plan by a call of do, and shows the progress. statementsOf
// returns the statements of a step that do runs, so that run can count them in advance for the
// progress. It is upStatements if do is Apply, and downStatements if do is Revert.
func (f *runFlags) run(cmd *cobra.Command, db *gorm.DB, plan *sqlmigrate.Plan, statementsOf func(sqlmigrate.Step) []sqlmigrate.Statement, do applyOrRevert) error {
	shown := &progress{out: cmd.ErrOrStderr(), expected: map[sqlmigrate.PhaseName]int{}}
	for _, phase := range plan.Phases {
		shown.expected[phase.Name] = countStatements(plan.Only(phase.Name), statementsOf)
	}
	defer shown.close()
	err := do(plan, cmd.Context(), db, sqlmigrate.WithProgress(shown.show), sqlmigrate.WithLockTimeout(f.lockTimeout),
		sqlmigrate.WithRetryFor(f.retryFor))
	if err == nil {
		return nil
	}
	return terminal.Interrupted(cmd.Context(), err, err.Error()+": run the same command again to resume")
}
