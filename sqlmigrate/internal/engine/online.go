package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// An Online is a database's part of a widening during which programs continue.
// Package online of sqlmigrate decides what is done next; an Online does it.
//
// The plan is made once, and kept in the database with how far it has come: a
// [Move]. A step and the record that it is done are one transaction where the
// database has that for such statements. Elsewhere, and for the steps that are
// none, a step is recorded when it is over, so it may be done twice: write it so
// that this is harmless.
type Online interface {
	// PlanOnline plans the steps for tables that have columns to be widened, or finds
	// what blocks them. It changes nothing that is still there when it returns.
	PlanOnline(ctx context.Context, conn *sql.Conn, tables []plan.Table) (*OnlinePlan, error)

	// LoadMove finds the move under way that has one of these tables, or returns
	// nil. It reads only.
	LoadMove(ctx context.Context, conn *sql.Conn, tables []plan.TableName) (*Move, error)

	// OpenMove makes sure that conn is the only one that carries m out, sets it
	// up, and records a move that is new. release undoes the former two after the
	// work has ended with err, ends what the server still does for conn if that
	// is needed, and returns err with what failed then.
	OpenMove(ctx context.Context, conn *sql.Conn, m *Move, s Settings) (release func(err error) error, err error)

	// SaveMove records how far the move has come.
	SaveMove(ctx context.Context, conn Conn, m *Move) error

	// CloseMove removes the record. The move has been finished or taken back.
	CloseMove(ctx context.Context, conn *sql.Conn, m *Move) error

	// RunStep carries out a step that is not [plan.Batches] nor over already, and records
	// next, which is m with the step done. It tries once; a lock is waited for until s.LockTimeout.
	// A [DifferError] in stage constrain has the batches before repeated.
	RunStep(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *Move, s Settings) error

	// RunBatch carries out one batch of a step that is [plan.Batches], of about that
	// many rows from next.Position on. It sets Position, Until and Copied of
	// next, and records it.
	RunBatch(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *Move, rows int, s Settings) (Batch, error)

	// Retry reports whether a step that failed with err may succeed if it is tried
	// again: it had no lock in time, was the victim of a deadlock, or wanted a row that
	// another program has moved. holder says who stands in the way, if that is known.
	Retry(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, err error) (again bool, holder string)

	// Steer records what others want of the move.
	Steer(ctx context.Context, conn *sql.Conn, m *Move) error

	// Running is how many statements run on the server, this one not among them, as far
	// as the account may see them.
	Running(ctx context.Context, conn *sql.Conn) (int, error)

	// Lag is how far the slowest replica is behind: of these, or of those that the
	// primary knows. Zero: there are none, or it cannot be seen. A [ReplicaError] is for
	// one of these.
	Lag(ctx context.Context, conn *sql.Conn, m *Move, replicas []*sql.DB) (time.Duration, error)
}

// An OnlinePlan is what package sqlmigrate describes.
type OnlinePlan struct {
	Tables   MovedTables
	Stages   []plan.Stage
	Blockers []plan.Blocker `json:",omitempty"`
	Notes    []string       `json:",omitempty"`
}

// MovedTables are the tables of a move. Databases hold them as objects with a schema and
// a name, and not as the text that a [plan.TableName] is elsewhere.
type MovedTables []plan.TableName

type movedTable struct{ Schema, Name string }

// MarshalJSON implements [json.Marshaler].
func (t MovedTables) MarshalJSON() ([]byte, error) {
	objects := make([]movedTable, len(t))
	for i, name := range t {
		objects[i] = movedTable(name)
	}
	return json.Marshal(objects)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *MovedTables) UnmarshalJSON(text []byte) error {
	var objects []movedTable
	err := json.Unmarshal(text, &objects)
	*t = make(MovedTables, len(objects))
	for i, o := range objects {
		(*t)[i] = plan.TableName(o)
	}
	return err
}

// A Move is an online widening under way, as the database keeps it.
type Move struct {
	Plan OnlinePlan `row:"json"`

	// Back is true if the move is being taken back, from stage From.
	Back bool
	From int

	// Done steps are over: of the stages in their order, or of the Back of stage
	// From and of those before it.
	Done int

	// Position is where the batches of the step that is next have arrived, Until
	// where they end, and Copied the rows that they have written. The unit of
	// the former two is the driver's, and both are 0 before the first batch.
	Position, Until, Copied int64

	Rate  float64 // rows a second, of the run that has copied last
	Waits int64   // batches that have waited for replicas

	Steering plan.Steering `row:"json"`

	Began time.Time `row:"-"` // zero until it is recorded
}

// ID names the move.
func (p *OnlinePlan) ID() string { return p.Tables[0].String() }

// RunLong carries out a step that is [plan.Long] or [plan.Verify].
func RunLong(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep) error {
	if step.Kind == plan.Verify {
		var n int64
		if err := conn.QueryRowContext(ctx, step.SQL[0]).Scan(&n); err != nil || n == 0 {
			return err
		}
		return DifferError{errors.New(Count(n, "row") + " found, want none")}
	}
	for _, statement := range step.SQL {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// A DifferError is about rows that are not as the step wants them.
type DifferError struct{ Err error }

func (e DifferError) Error() string { return e.Err.Error() }

func (e DifferError) Unwrap() error { return e.Err }

// A ReplicaError is about the replica with this number, from 1 on, which cannot be read.
type ReplicaError struct {
	Number int
	Err    error
}

func (e ReplicaError) Error() string { return fmt.Sprintf("replica %d: %v", e.Number, e.Err) }

func (e ReplicaError) Unwrap() error { return e.Err }

// A Batch is what RunBatch has done.
type Batch struct {
	Copied  int           // rows that it has written
	Skipped int           // rows that another program holds: the batch is repeated later
	Took    time.Duration // while it held locks on rows
	Commit  time.Duration // the part of it that the commit took
	Last    bool          // there are no more rows
}
