package sqllease

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gormflake/gormflake/internal/compatible"
)

const orAccept = " (or accept it with AllowVolatile and lease.WithSettle)"

// A session is what a connection is found to be.
type session struct {
	server   string // that answers, where it may be one of several
	dirt     error  // what a program has left, under which the store must not write
	findings []finding
}

// A finding is a setting under which the database can forget.
type finding struct {
	level slog.Level // Error: refused at first use
	text  string     // what is found and how to fix it
}

// errDirty is wrapped by what is found on a connection and not used.
var errDirty = errors.New("the connection")

// inspect refuses a connection on which the store must not write, at first use
// also a server that forgets, and logs what has changed in its settings.
func (s *store) inspect(ctx context.Context, conn *sql.Conn, limit time.Duration) error {
	var t table
	on := asker{conn, limit}
	known := s.ready.Load()
	if known != nil {
		t = *known
	} else if err := s.checkEngine(ctx, on); err != nil {
		return err
	}
	found, err := s.dialect().inspect(ctx, on, t)
	switch {
	case err != nil:
		return err
	case found.dirt == nil:
		return s.note(ctx, found, known == nil)
	case s.dialect().rollBack == "":
		return found.dirt
	}
	s.warnOnce(ctx, found.dirt)
	_, err = conn.ExecContext(ctx, s.dialect().rollBack)
	return err
}

// checkEngine refuses an engine that speaks the protocol of another, before its
// settings are believed, and chooses the dialect of one that has its own.
func (s *store) checkEngine(ctx context.Context, on asker) error {
	if s.dialect() == sqliteDialect { // a library
		return nil
	}
	var version string
	if err := on.ask(ctx, "SELECT version()", &version); err != nil {
		return err
	}
	engine := compatible.Engine(version)
	if engine == tidb && s.dialect() == mysqlDialect {
		s.chosen.Store(tidbDialect)
	}
	if engine == "" || s.volatile {
		return nil
	}
	untried := cmp.Or(s.dialect().untried, "whose settings do not show what it forgets, and on which leases were never tried")
	return fmt.Errorf("the server is %s (%s), %s: want PostgreSQL, MySQL, MariaDB or another store, such as etcdlease"+orAccept, engine, version, untried)
}

// Unsettled implements [lease.Settler].
func (s *store) Unsettled() error {
	if untried := s.dialect().untried; untried != "" {
		return fmt.Errorf("sqllease: a server %s: want lease.WithSettle of a window or more", untried)
	}
	return nil
}

// warnOnce logs why a connection has been closed.
func (s *store) warnOnce(ctx context.Context, cause error) {
	if _, known := s.warned.LoadOrStore(cause.Error(), true); !known {
		s.logger.WarnContext(ctx, "sqllease: connection not used, and what was open on it rolled back", "cause", cause)
	}
}

// note returns what is to be refused, and logs what was not found when the server
// was looked at last.
func (s *store) note(ctx context.Context, found session, refuse bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range found.findings {
		switch {
		case s.volatile, slices.Contains(s.noted[found.server], f):
		case f.level == slog.LevelError && refuse:
			errs = append(errs, errors.New(f.text+orAccept))
		default:
			s.logger.Log(ctx, f.level, "sqllease: "+f.text, "server", found.server)
		}
	}
	if errs == nil {
		s.noted[found.server] = found.findings
	}
	return errors.Join(errs...)
}

// Check implements [lease.Checker].
func (s *store) Check(ctx context.Context) error {
	_, err := onTable(ctx, s, func(t table) (shape, error) { return s.checkShape(ctx, t) })
	return err
}

// while calls f while a setting of the connection, which get selects, is what change
// makes of it, and then sets it back: the pool is the application's.
func while(ctx context.Context, conn *sql.Conn, get, set string, change func(int) int, f func() error) error {
	var before int
	if err := conn.QueryRowContext(ctx, get).Scan(&before); err != nil {
		return err
	}
	during := change(before)
	if during == before {
		return f()
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(set, during)); err != nil {
		return err
	}
	err := f()
	if _, failed := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, before)); failed != nil {
		discard(conn)
	}
	return err
}
