package online

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Config holds the options of a call of Apply, Finish or Revert.
type Config struct {
	Smallest, Largest int                       // bounds of the number of rows in a batch
	Stall             time.Duration             // how long a batch may take, and a program may have to wait for its rows
	MaxLag            time.Duration             // how far a replica may be behind; zero means no limit
	Replicas          []*sql.DB                 // replicas that the primary does not know
	Patience          time.Duration             // how long a step or batch is tried again if it gets no lock
	Last              plan.StageName            // the last stage that Apply runs
	Progress          func(plan.OnlineProgress) // is called before each step, after each second of a copy, when the run waits, and at the end
	Settings          engine.Settings           // the lock timeout, the pace, and a pool of further connections
}

// Defaults returns the defaults that the options of sqlmigrate document.
func Defaults() Config {
	return Config{
		Smallest: 50, Largest: 10_000,
		Stall:    50 * time.Millisecond,
		MaxLag:   10 * time.Second,
		Patience: 10 * time.Minute,
		Last:     plan.StageSwap,
		Progress: func(plan.OnlineProgress) {},
		Settings: engine.Settings{LockTimeout: 200 * time.Millisecond, Pace: plan.PacePolite},
	}
}

// A Run is one call of Apply, Finish or Revert for a move.
type Run struct {
	driver engine.Online
	conn   *sql.Conn
	tables []plan.TableName // the move that contains any of these tables is run
	move   *engine.Move     // the plan and progress of the move, as the database stores them
	config Config
	report *reporter

	configured       Config    // config as New got it; an operator's requests can replace Stall and the pace in config
	allowed          task      // the step for which waitUntilAllowed last found that the run need not wait
	allowedAt        time.Time // when that was
	replicasAnswered bool      // whether all replicas have answered in this run
	replicaBehind    bool      // whether a replica was too far behind at the last check
}

// New returns a run of the stored move that contains any of the tables. If the database has
// no such move, Apply begins m, a new move.
func New(driver engine.Online, conn *sql.Conn, tables []plan.TableName, m engine.Move, c Config) *Run {
	return &Run{driver: driver, conn: conn, tables: tables, move: &m, config: c, report: &reporter{callback: c.Progress, begun: time.Now()}, configured: c}
}

// save records next, the move with new progress, in the database, and sets r.move to it.
func (r *Run) save(ctx context.Context, next *engine.Move) error {
	if err := r.driver.SaveMove(ctx, r.conn, next); err != nil {
		return err
	}
	r.move = next
	return nil
}

// stage returns the name of the stage of t.
func (r *Run) stage(t task) plan.StageName { return r.move.Plan.Stages[t.stage].Name }

// pause returns how long to wait before the next try of a step that did not get its lock, so
// that the programs that waited behind the step can proceed. The length is random, because
// otherwise the tries could coincide with a program that runs at regular intervals.
func pause() time.Duration { return 300*time.Millisecond + rand.N(300*time.Millisecond) }
