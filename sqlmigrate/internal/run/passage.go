package run

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// A Config is what options of the caller set.
type Config struct {
	engine.Settings

	Progress func(plan.Progress)
	Phases   []plan.PhaseName // nil: all
	RetryFor time.Duration    // after a statement has waited too long for a lock
}

// Defaults returns what is documented at the options. The timeout of a lock is the one
// that the files of migration tools have.
func Defaults() Config {
	return Config{
		Settings: engine.Settings{LockTimeout: 5 * time.Second},
		Progress: func(plan.Progress) {},
		RetryFor: 2 * time.Minute,
	}
}

// A session is the connection on which one call carries out its phases.
type session struct {
	ctx     context.Context
	conn    *sql.Conn
	engine  engine.Engine
	dialect string
	config  Config
	begun   time.Time
	over    []string // says of each phase that is over what has been done
}

// phase carries transactions out, one after the other. Some have nothing to do.
func (s *session) phase(name plan.PhaseName, transactions [][]task) error {
	p := &passage{session: s, name: name, tasks: slices.Concat(transactions...)}
	for _, tasks := range transactions {
		if len(tasks) == 0 {
			continue
		}
		if err := p.transaction(len(tasks)); err != nil {
			return err
		}
	}
	if len(p.tasks) > 0 {
		p.report(plan.Progress{})
	}
	return nil
}

// A passage is a phase on its way up or down.
type passage struct {
	*session

	name  plan.PhaseName
	tasks []task
	ended int // tasks whose transactions have ended
	done  int // tasks that have been carried out
}

// transaction carries out the next n tasks. One that has waited too long for a
// lock is repeated: all of it, or where there are no transactions what is left.
func (p *passage) transaction(n int) error {
	end := p.ended + n
	tries, failed := engine.Tries{Limit: p.config.RetryFor}, p.done
	for {
		err := p.attempt(end)
		if err == nil {
			p.ended = end
			return nil
		}
		if p.done > failed && !p.engine.Transactions() {
			tries, failed = engine.Tries{Limit: p.config.RetryFor}, p.done
		}
		pause := pauseAfter(tries.Count)
		if !p.engine.LockTimeout(err) || p.ctx.Err() != nil || !tries.Failed(pause) {
			return p.failure(end, err)
		}
		if p.engine.Transactions() {
			p.done = p.ended
		}
		p.report(plan.Progress{Retry: tries.Count, Wait: pause, Err: err})
		if engine.Sleep(p.ctx, pause) != nil {
			return p.failure(end, err)
		}
	}
}

const (
	// The pauses between attempts. What has waited behind an attempt goes
	// ahead in the first moment of each.
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
)

// pauseAfter returns the pause before the next attempt, after so many that have failed
// and one more.
func pauseAfter(failed int) time.Duration {
	longest := min(firstPause<<min(failed, 10), longestPause)
	return longest/2 + rand.N(longest/2)
}

func (p *passage) attempt(end int) error {
	if p.done < end {
		p.report(plan.Progress{})
	}
	err := p.engine.Run(p.ctx, p.conn, statementsOf(p.tasks[p.done:end]), p.config.Settings, func(plan.Statement) {
		if p.done++; p.done < end {
			p.report(plan.Progress{})
		}
	})
	return engine.WithCause(p.ctx, err)
}

// report adds to now the statement that is next, and calls the caller's function.
func (p *passage) report(now plan.Progress) {
	now.Phase, now.Done, now.Of, now.Elapsed = p.name, p.done, len(p.tasks), time.Since(p.begun)
	if p.done < len(p.tasks) {
		t := p.tasks[p.done]
		now.Table, now.Step, now.SQL = t.table, t.step, t.statement.SQL
	}
	p.config.Progress(now)
}

func (p *passage) failure(end int, err error) error {
	kept := p.ended
	if !p.engine.Transactions() {
		kept = min(p.done, end)
	}
	state := strings.Join(append([]string{p.state(changes(p.tasks[:kept]), p.done >= end)}, p.over...), ", ")
	if p.done >= end {
		return fmt.Errorf("sqlmigrate: phase %s, after %s: %w (%s)", p.name, p.lastOf(end), err, state)
	}
	t := p.tasks[p.done]
	of := ""
	if t.table.Name != "" {
		of = ", table " + t.table.String()
	}
	return fmt.Errorf("sqlmigrate: phase %s%s, statement %d of %d, %s: %w (%s)",
		p.name, of, p.done+1, len(p.tasks), shortened(t.statement.SQL), err, state)
}

// state describes what the phase has changed, of which that many statements are kept. all
// is true if the failure came after the last one of a transaction: how a COMMIT has ended
// that has failed, or whose answer was lost, PostgreSQL's client does not know.
func (p *passage) state(changed int, all bool) string {
	state := "nothing of this phase has been changed"
	switch {
	case !p.engine.Transactions() && changed == 0:
		return "no statement of this phase has been carried out"
	case !p.engine.Transactions() && all:
		return "all statements of this phase have been carried out"
	case changed > 0:
		state = engine.Count(changed, "statement") + " of this phase applied and kept: fix the cause and run the same plan again to resume"
	}
	if all && p.dialect == "postgres" {
		state += ", or all of it if the connection was lost: inspect again"
	}
	return state
}

func (p *passage) lastOf(end int) string {
	if end == len(p.tasks) {
		return "its last statement"
	}
	return fmt.Sprintf("statement %d of %d", end, len(p.tasks))
}

const longStatement = 160

// shortened returns a statement on one line.
func shortened(sql string) string {
	runes := []rune(strings.Join(strings.Fields(sql), " "))
	if len(runes) <= longStatement {
		return string(runes)
	}
	return string(runes[:longStatement]) + "…"
}
