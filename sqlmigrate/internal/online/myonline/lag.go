package myonline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate/internal/engine"
	"github.com/gormflake/gormflake/sqlmigrate/internal/mysql"
)

// lagTimeout is for a replica's answer.
const lagTimeout = 5 * time.Second

// Lag implements [engine.Online]. A primary does not know how far its replicas are, and
// what they report themselves is NULL where they have stopped, and 0 where what they
// follow is behind. So each call writes a beat, the time by this process's clock, after
// it has read which beats have arrived.
//
// Where nobody has written one for long, that time counts until the next one has arrived.
func (d Driver) Lag(ctx context.Context, conn *sql.Conn, m *engine.Move, replicas []*sql.DB) (lag time.Duration, err error) {
	if len(replicas) == 0 {
		return 0, nil
	}
	primary, err := readBeat(context.WithoutCancel(ctx), conn, m)
	if err != nil {
		return 0, engine.JournalError("read", journal, err)
	}
	now := time.Now()
	for i, replica := range replicas {
		arrived, err := arrivedBeat(ctx, replica, m)
		if err == nil && arrived.server == primary.server {
			return 0, errors.New("sqlmigrate: the handle of a replica leads to a server with the server_id of the primary: want the address of the replica itself")
		}
		if err != nil {
			return 0, engine.ReplicaError{Number: i + 1, Err: err}
		}
		if arrived.at != primary.at || arrived.server == 0 {
			lag = max(lag, now.Sub(time.Unix(0, arrived.at)))
		}
	}
	_, err = d.Set(ctx, conn, m, fmt.Sprintf("beat = %d", now.UnixNano()))
	return lag, err
}

// A beat is the last one that a server has; the server is 0 if it has none.
type beat struct{ server, at int64 }

func readBeat(ctx context.Context, conn engine.Conn, m *engine.Move) (b beat, err error) {
	err = conn.QueryRowContext(ctx, "SELECT @@server_id, beat FROM "+journal+" WHERE id = ?", m.Plan.ID()).Scan(&b.server, &b.at)
	return b, err
}

// arrivedBeat is the beginning of the move where not even that has arrived.
func arrivedBeat(ctx context.Context, replica *sql.DB, m *engine.Move) (beat, error) {
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	b, err := readBeat(ctx, replica, m)
	if errors.Is(err, sql.ErrNoRows) || err != nil && (mysql.Engine{}).Absent(err) {
		return beat{at: m.Began.UnixNano()}, nil
	}
	return b, err
}
