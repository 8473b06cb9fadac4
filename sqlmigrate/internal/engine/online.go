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

// An Online is the driver of online moves for a database. Package online decides which
// step comes next; the driver runs it.
//
// PlanOnline makes the plan once. The database stores it with its progress as a [Move]. A
// step and the record of its completion are one transaction if the database has
// transactions for the statements of the step. Otherwise the step is recorded after it
// has ended, and is run again if the process ends in between. Therefore the driver must
// be able to run such a step twice.
type Online interface {
	// PlanOnline returns a plan for the tables that have columns to widen, or the
	// blockers of the move. To find out how the server treats the new columns, it may
	// create objects, which it drops before it returns.
	PlanOnline(ctx context.Context, conn *sql.Conn, tables []plan.Table) (*OnlinePlan, error)

	// LoadMove returns the stored move that contains any of the tables, or nil. It only
	// reads.
	LoadMove(ctx context.Context, conn *sql.Conn, tables []plan.TableName) (*Move, error)

	// OpenMove acquires the exclusive right to run m on conn, sets up the connection, and
	// records m if m is new. After its work, the caller calls release with the error of
	// the work. release restores the connection and gives up the right. If that fails, it
	// closes the connection, and on PostgreSQL it also ends the server's session, which
	// may still be running a statement. release returns err or, if err is nil, the error
	// of its own work.
	OpenMove(ctx context.Context, conn *sql.Conn, m *Move, s Settings) (release func(err error) error, err error)

	// SaveMove records the progress of the move.
	SaveMove(ctx context.Context, conn Conn, m *Move) error

	// CloseMove deletes the record of a move that has been finished or reverted.
	CloseMove(ctx context.Context, conn *sql.Conn, m *Move) error

	// RunStep runs a step that is not of kind [plan.Batches] and is not done yet, and
	// records next, which is the move after the step. It makes one attempt, and waits
	// for a lock for at most s.LockTimeout. If it returns a [DifferError] in stage
	// constrain, rows of the copy differ from the table, and the caller repeats the copy.
	RunStep(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *Move, s Settings) error

	// RunBatch runs a batch of a [plan.Batches] step with about rows rows, beginning at
	// next.Position. It sets Position, Until and Copied of next, and records next.
	RunBatch(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, next *Move, rows int, s Settings) (Batch, error)

	// Retry reports whether a step that failed with err may succeed at the next attempt,
	// because a lock was not available in time, the step was the victim of a deadlock, or
	// another program had moved a row. holder describes the session that holds the lock;
	// it is empty if unknown.
	Retry(ctx context.Context, conn *sql.Conn, step *plan.OnlineStep, err error) (again bool, holder string)

	// Steer records m.Steering, the requests of an operator. The process that runs the
	// move reads them, which is usually not the process that calls Steer.
	Steer(ctx context.Context, conn *sql.Conn, m *Move) error

	// Running returns the number of statements that run on the server, except this query.
	// It counts only the statements that the account is allowed to see.
	Running(ctx context.Context, conn *sql.Conn) (int, error)

	// Lag returns how far the slowest replica is behind. On MariaDB and MySQL it checks
	// the given replicas, on PostgreSQL the replicas that the primary knows. It returns
	// zero if there are no replicas, or if the account cannot see them. If a given
	// replica cannot be read, the error is a [ReplicaError].
	Lag(ctx context.Context, conn *sql.Conn, m *Move, replicas []*sql.DB) (time.Duration, error)
}

// A Conn is a connection or its transaction.
type Conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// An OnlinePlan is the internal form of sqlmigrate's OnlinePlan, stored as JSON.
type OnlinePlan struct {
	Tables   MovedTables
	Stages   []plan.Stage
	Blockers []plan.Blocker `json:",omitempty"`
	Notes    []string       `json:",omitempty"`
}

// MovedTables are the tables of a move. In JSON each table is an object with Schema and
// Name, because databases hold stored moves in this form. The JSON of a [plan.TableName]
// alone is a text.
type MovedTables []plan.TableName

// A movedTable is the JSON form of a table of [MovedTables]. Unlike plan.TableName, it has
// no MarshalText, so that encoding/json writes an object.
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

// A Move is an online move and its progress. Once the move has begun, the journal, which is
// a table in the database, has a row of it. [Journal.Find] scans the columns of this row
// into the fields in their order. Package rows reads the tag row: json marks a field that
// is stored as JSON, and - marks a field that is not scanned.
type Move struct {
	Plan OnlinePlan `row:"json"`

	// Back reports that the move is being reverted. From is the index of the stage with
	// which the way back began.
	Back bool
	From int

	// Done is the number of completed steps. It counts the steps of all stages in order
	// or, if Back is true, the Back steps of stage From and of the stages before it.
	Done int

	// Position and Until bound the rows that the batches of the next step still have to
	// copy. On PostgreSQL they are pages of the table, and on MariaDB and MySQL values of
	// the first column of the primary key. Both are 0 before the first batch. Copied is the
	// number of rows that the batches of the next step have written.
	Position, Until, Copied int64

	Rate  float64 // rows per second in the run that copied last
	Waits int64   // number of batches that waited for replicas

	Steering plan.Steering `row:"json"`

	Began time.Time `row:"-"` // zero until the move is recorded
}

// ID returns the ID of the move, which is the name of its first table.
func (p *OnlinePlan) ID() string { return p.Tables[0].String() }

// RunLong runs a step of kind [plan.Long] or [plan.Verify]. Of a Verify step it runs only
// the first statement, which counts the rows that are wrong, and returns a [DifferError]
// if there are any. Some Verify steps have further statements, by which a driver can find out
// faster that no row is wrong, and which RunLong does not need. Of a Long step it runs all
// statements.
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

// A DifferError reports rows that do not have the values that a step requires, for example
// rows whose new column is not a copy of the old column.
type DifferError struct{ Err error }

func (e DifferError) Error() string { return e.Err.Error() }

func (e DifferError) Unwrap() error { return e.Err }

// A ReplicaError is the error of reading a replica. Number is the position of the replica
// in the list, from 1 on.
type ReplicaError struct {
	Number int
	Err    error
}

func (e ReplicaError) Error() string { return fmt.Sprintf("replica %d: %v", e.Number, e.Err) }

func (e ReplicaError) Unwrap() error { return e.Err }

// A Batch is the result of [Online.RunBatch].
type Batch struct {
	Copied  int           // number of rows that the batch wrote
	Skipped int           // number of rows that another program had locked; the batch is repeated later
	Took    time.Duration // how long the batch held locks on rows
	Commit  time.Duration // how long the commit took, which is part of Took
	Last    bool          // whether this was the last batch
}
