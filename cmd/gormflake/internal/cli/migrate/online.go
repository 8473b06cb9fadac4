package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/flags"
	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/sqlmigrate"
)

// newOnline returns the command migrate online with its subcommands. They do phase widen while
// programs read and write.
func newOnline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "online",
		Short: "Do phase widen while programs read and write",
		Long: `Do phase widen while programs read and write: new columns are filled in batches,
and take the place of the old ones in a moment. It takes longer than "gormflake
migrate apply --phases widen", and more disk. It needs PostgreSQL; or MariaDB or
MySQL, where new tables take the place of the old ones.

Begin with "plan". "apply" can be interrupted and resumed. Until "finish" drops the
old columns, "revert" takes back what has been done; on MariaDB and MySQL, only until
the stage swap. Phases detach and guard follow with "gormflake migrate apply".`,
		Args: flags.Group,
		RunE: flags.ShowHelp,
	}
	cmd.AddCommand(newOnlinePlan(), newOnlineApply(), newOnlineStatus(), newOnlineFiles(), newOnlineFinish(), newOnlineRevert(),
		newOnlinePause(), newOnlineResume(), newOnlineThrottle())
	return cmd
}

// withOnline inspects the tables and calls do with the database and the online plan. If an
// online move of the tables has begun, this is the plan that the move has stored in the
// database. mode is flags.ReadOnly or flags.ReadWrite.
func (f *migrateFlags) withOnline(ctx context.Context, mode string, tables []string, do func(*gorm.DB, *sqlmigrate.OnlinePlan) error) error {
	return f.withPlan(ctx, mode, tables, func(db *gorm.DB, plan *sqlmigrate.Plan) error {
		online, err := plan.Online(ctx, db)
		if err != nil {
			return err
		}
		// Clone the slice, because Apply stores its elements in the database. There the notes
		// keep the names of options.
		online.Notes = slices.Clone(online.Notes)
		for i, note := range online.Notes {
			online.Notes[i] = flags.Words(note) // with the names of flags instead of options
		}
		return do(db, online)
	})
}

// newOnlinePlan returns the command migrate online plan, which shows a plan and changes
// nothing.
func newOnlinePlan() *cobra.Command {
	var f migrateFlags
	var back, asJSON bool
	cmd := &cobra.Command{
		Use:   "plan --dsn URL TABLE...",
		Short: "Show each statement, with what it locks",
		Long: `Show each statement in order, with what it locks, and estimates of time, disk and
log. Nothing is changed. If a move is under way, its plan is shown.

The exit code is 0 if there is nothing to do, 3 if there is, and 1 if something
stands in the way or the database could not be read.`,
		Example: `  gormflake migrate online plan --dsn postgres://app@db/shop orders`,
		Args:    needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			return f.withOnline(cmd.Context(), flags.ReadOnly, tables, func(_ *gorm.DB, online *sqlmigrate.OnlinePlan) error {
				if err := printOnline(cmd.OutOrStdout(), online, back, asJSON); err != nil {
					return err
				}
				return planError(online.Blockers, online.Empty())
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&back, "back", false, "show the statements that take each stage back")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("back", "json")
	return cmd
}

// printOnline prints the plan as text. If asJSON is true, it prints the plan as JSON instead.
// If back is true, it prints the statements that take each stage back.
func printOnline(out io.Writer, online *sqlmigrate.OnlinePlan, back, asJSON bool) error {
	text := online.String()
	switch {
	case asJSON:
		return terminal.SayJSON(out, onlineAsJSON(online))
	case back:
		text = online.WayBack()
	}
	terminal.Say(out, "%s", strings.TrimSuffix(text, "\n"))
	return nil
}

// onlineFlags holds the flags that the commands apply, finish and revert of an online move
// share, and the further flags of apply.
type onlineFlags struct {
	migrateFlags
	confirm     flags.Confirm
	lockTimeout time.Duration // for how long a short step waits for its locks
	json        bool

	// The flags of apply. The other commands leave them empty.
	stall     time.Duration // how long a batch may take
	pace      string        // one of paces
	maxLag    time.Duration // the lag of a replica up to which batches continue; 0 for no limit
	replicas  []string      // the URLs of replicas
	rows      []int         // --batch-rows, the least and the most rows of a batch; empty for the default
	lastStage string        // --until
}

// register adds the flags that apply, finish and revert share to a command.
func (f *onlineFlags) register(cmd *cobra.Command) {
	f.migrateFlags.register(cmd)
	f.confirm.Register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object when it is done, as \"status\" does")
	cmd.Flags().DurationVar(&f.lockTimeout, "lock-timeout", 200*time.Millisecond, "how long a short step waits for its locks before it is tried again; MariaDB then waits for a second too")
}

// options returns the options of an online move for the flags except --replica, for which run
// adds the option. It also returns the option that shows the progress of the move.
func (f *onlineFlags) options(cmd *cobra.Command) []sqlmigrate.OnlineOption {
	options := []sqlmigrate.OnlineOption{sqlmigrate.WithLockTimeout(f.lockTimeout), sqlmigrate.WithOnlineProgress(showOnlineProgress(cmd))}
	if f.lastStage != "" { // apply, whose flag --until is never empty
		options = append(options, sqlmigrate.WithStall(f.stall), sqlmigrate.WithPace(sqlmigrate.Pace(f.pace)), sqlmigrate.WithMaxLag(f.maxLag), sqlmigrate.WithLastStage(sqlmigrate.StageName(f.lastStage)))
	}
	if len(f.rows) == 2 { // check allows two numbers or an empty list
		options = append(options, sqlmigrate.WithBatchRows(f.rows[0], f.rows[1]))
	}
	return options
}

// onlineStages are the stages that apply runs.
var onlineStages = []string{
	string(sqlmigrate.StagePrepare), string(sqlmigrate.StageCopy), string(sqlmigrate.StageIndex),
	string(sqlmigrate.StageConstrain), string(sqlmigrate.StageSwap),
}

// paces are the values of --pace.
var paces = []string{string(sqlmigrate.PacePolite), string(sqlmigrate.PaceFull)}

// check returns an error if the flags of apply are invalid.
func (f *onlineFlags) check() error {
	switch {
	case len(f.rows) != 0 && (len(f.rows) != 2 || f.rows[0] < 1 || f.rows[1] < f.rows[0]):
		return fmt.Errorf("--batch-rows %v: want two numbers, the smaller one first, as 50,10000", f.rows)
	case !slices.Contains(onlineStages, f.lastStage):
		return fmt.Errorf("--until %q: want one of %s", f.lastStage, strings.Join(onlineStages, ", "))
	case f.stall <= 0:
		return fmt.Errorf("--stall %v: want more than zero", f.stall)
	case !slices.Contains(paces, f.pace):
		return fmt.Errorf("--pace %q: want polite or full", f.pace)
	case f.maxLag < 0:
		return fmt.Errorf("--max-lag %v: want zero or more", f.maxLag)
	}
	return nil
}

// newOnlineApply returns the command migrate online apply, which runs all stages except the
// last, or resumes them.
func newOnlineApply() *cobra.Command {
	var f onlineFlags
	cmd := &cobra.Command{
		Use:   "apply --dsn URL TABLE...",
		Short: "Carry out all stages but the last, or resume them",
		Long: `Carry out all stages but the last. After an error, Ctrl-C or a kill, run the
same command again: it resumes where it stopped. The plan is kept in the
database, in table sqlmigrate_online.`,
		Example: `  gormflake migrate online apply --dsn postgres://app@db/shop --yes orders`,
		Args:    needTables,
		RunE: func(cmd *cobra.Command, tables []string) error {
			if err := f.check(); err != nil {
				return terminal.Usage(err)
			}
			done := "applied; next: gormflake migrate online finish, or revert"
			if f.lastStage != string(sqlmigrate.StageSwap) {
				done = "applied up to stage " + f.lastStage + "; next: gormflake migrate online apply, or revert"
			}
			return f.run(cmd, tables, "Widen %s online?", (*sqlmigrate.OnlinePlan).Apply, done)
		},
	}
	f.register(cmd)
	cmd.Flags().DurationVar(&f.stall, "stall", 50*time.Millisecond, "how long a batch may take, and a program wait for one")
	flags.ChoiceVar(cmd, &f.pace, "pace", string(sqlmigrate.PacePolite), "polite: rest after each batch for as long as it took; full: rest only while the disk is slow", paces)
	cmd.Flags().DurationVar(&f.maxLag, "max-lag", 10*time.Second, "wait while a replica is further behind; 0 for no limit")
	cmd.Flags().StringArrayVar(&f.replicas, "replica", nil, "replica of MariaDB or MySQL that --max-lag is about, as mysql://host:port, with the account and database of --dsn if it names none; repeat it for more")
	cmd.Flags().IntSliceVar(&f.rows, "batch-rows", nil, "bounds for the rows of a batch (default 50,10000)")
	flags.ChoiceVar(cmd, &f.lastStage, "until", string(sqlmigrate.StageSwap), "last stage: "+strings.Join(onlineStages, ", "), onlineStages)
	return cmd
}

// newOnlineFinish returns the command migrate online finish, which runs the last stage.
func newOnlineFinish() *cobra.Command {
	return newOnlineRun(&cobra.Command{
		Use:     "finish --dsn URL TABLE...",
		Short:   "Drop the old columns; there is no way back from here",
		Long:    `Drop the old columns. There is no way back from here.`,
		Example: `  gormflake migrate online finish --dsn postgres://app@db/shop --yes orders`,
	}, "Drop the old columns of %s? There is no way back.", (*sqlmigrate.OnlinePlan).Finish,
		"finished; next: gormflake migrate apply --phases detach,guard")
}

// newOnlineRevert returns the command migrate online revert, which takes a move back.
func newOnlineRevert() *cobra.Command {
	return newOnlineRun(&cobra.Command{
		Use:   "revert --dsn URL TABLE...",
		Short: "Take back what apply has done, while programs read and write",
		Long: `Take back what "gormflake migrate online apply" has done, wherever that has
stopped, while programs read and write. Once keys are in use that the old columns do
not hold, there is no way back, and nothing is changed.`,
		Example: `  gormflake migrate online revert --dsn postgres://app@db/shop --yes orders`,
	}, "Take back the online move of %s?", (*sqlmigrate.OnlinePlan).Revert, "taken back")
}

// newOnlineRun completes cmd, the command finish or revert, with its flags and its function.
// The command asks the question, which has %s in place of the tables, calls do, and prints
// done.
func newOnlineRun(cmd *cobra.Command, question string, do runOnline, done string) *cobra.Command {
	var f onlineFlags
	cmd.Args = needTables
	cmd.RunE = func(cmd *cobra.Command, tables []string) error { return f.run(cmd, tables, question, do, done) }
	f.register(cmd)
	return cmd
}

// openReplicas opens the replicas of --replica, whose lag apply watches. closeAll closes the
// replicas that were opened. The caller calls it in any case, because some replicas may be
// open after an error.
func (f *onlineFlags) openReplicas(ctx context.Context) (replicas []*gorm.DB, closeAll func() error, err error) {
	closeAll = func() error { return nil }
	for _, address := range f.replicas {
		db, closeDB, err := f.database.At(address).Open(ctx, flags.ReadOnly)
		if err != nil {
			return nil, closeAll, fmt.Errorf("--replica %d: %w", len(replicas)+1, err)
		}
		closeEarlier := closeAll
		closeAll = func() error { return errors.Join(closeEarlier(), closeDB()) }
		replicas = append(replicas, db)
	}
	return replicas, closeAll, nil
}

// A runOnline is Apply, Finish or Revert of [sqlmigrate.OnlinePlan].
type runOnline func(*sqlmigrate.OnlinePlan, context.Context, *gorm.DB, ...sqlmigrate.OnlineOption) error

// run loads or makes the online plan of the tables, asks the question and calls do, which is
// Apply, Finish or Revert of the plan. The question has %s in place of the tables. If do
// succeeds, run prints done.
func (f *onlineFlags) run(cmd *cobra.Command, tables []string, question string, do runOnline, done string) error {
	if f.lockTimeout < time.Millisecond {
		return terminal.Usagef("--lock-timeout %v: want 1ms or more", f.lockTimeout)
	}
	return f.withOnline(cmd.Context(), flags.ReadWrite, tables, func(db *gorm.DB, online *sqlmigrate.OnlinePlan) error {
		if err := blockerError(online.Blockers, `; see "gormflake migrate online plan"`); err != nil {
			return err
		}
		if online.Empty() {
			return f.printDone(cmd, db, online, "nothing to do: the keys are wide, and no move is under way")
		}
		if err := f.confirm.Ask(cmd, fmt.Sprintf(question, strings.Join(online.Tables, ", "))); err != nil {
			return err
		}
		replicas, closeAll, err := f.openReplicas(cmd.Context())
		if err == nil {
			err = do(online, cmd.Context(), db, append(f.options(cmd), sqlmigrate.WithReplicas(replicas...))...)
		}
		if err = errors.Join(err, closeAll()); err != nil {
			return terminal.Interrupted(cmd.Context(), err, err.Error()+": run the same command again to resume")
		}
		return f.printDone(cmd, db, online, done)
	})
}

// printDone prints the end of a command: the text done or, with --json, the status of the
// move.
func (f *onlineFlags) printDone(cmd *cobra.Command, db *gorm.DB, online *sqlmigrate.OnlinePlan, done string) error {
	if !f.json {
		terminal.Say(cmd.OutOrStdout(), "%s", done)
		return nil
	}
	status, err := online.Status(cmd.Context(), db)
	if err != nil {
		return err
	}
	return terminal.SayJSON(cmd.OutOrStdout(), statusAsJSON(status))
}
