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

// inspect returns an error if the store must not write on the connection. Each statement
// that it sends may take at most limit. At first use, before the table is known, it also
// refuses a server whose settings can forget writes. Later it logs changed settings.
//
// A program may have left the connection in a state in which the store must not write, for
// example with an open transaction. If the dialect ends this state by a rollback, as on
// SQLite, inspect does so and accepts the connection. Otherwise it returns the error about
// the state, and the caller closes the connection.
func (s *store) inspect(ctx context.Context, conn *sql.Conn, limit time.Duration) error {
	var t tableName // empty at first use
	on := timedConn{conn, limit}
	ready := s.ready.Load()
	if ready != nil {
		t = *ready
	} else if err := s.checkEngine(ctx, on); err != nil {
		return err
	}
	found, err := s.dialect().inspect(ctx, on, t)
	switch {
	case err != nil:
		return err
	case found.dirt == nil: // no reason not to write
		return s.logFindings(ctx, found, ready == nil)
	case s.dialect().rollBack == "":
		return found.dirt
	}
	s.warnOnce(ctx, found.dirt)
	_, err = conn.ExecContext(ctx, s.dialect().rollBack)
	return err
}

// checkEngine refuses servers that use the protocol of PostgreSQL or MySQL but are
// other products, because their settings do not mean the same. With AllowVolatile it accepts
// them. For TiDB it also replaces the dialect of MySQL by TiDB's, whose field untried is the
// reason in the error.
func (s *store) checkEngine(ctx context.Context, on timedConn) error {
	if s.dialect() == sqliteDialect { // SQLite is a library, not a server
		return nil
	}
	var version string
	if err := on.queryRow(ctx, "SELECT version()"+oneRow, &version); err != nil {
		return err
	}
	engine := compatible.Engine(version) // "" for PostgreSQL, MySQL and MariaDB
	if engine == tidb && s.dialect() == mysqlDialect {
		s.chosen.Store(tidbDialect)
	}
	if engine == "" || s.volatile {
		return nil
	}
	untried := cmp.Or(s.dialect().untried, "whose settings do not show what it forgets, and on which leases were never tried")
	return fmt.Errorf("the server is %s (%s), %s: want PostgreSQL, MySQL, MariaDB or another store, such as etcdlease"+orAccept, engine, version, untried)
}

// Unsettled implements [lease.Settler]. It returns an error on TiDB, because a commit in a
// cluster of TiKV is not tested, so that a lease on TiDB needs WithSettle. On other
// databases it returns nil.
func (s *store) Unsettled() error {
	if untried := s.dialect().untried; untried != "" {
		return fmt.Errorf("sqllease: a server %s: want lease.WithSettle of a window or more", untried)
	}
	return nil
}

// warnOnce logs why a connection is closed or rolled back, the first time that this cause
// occurs.
func (s *store) warnOnce(ctx context.Context, cause error) {
	if _, known := s.warned.LoadOrStore(cause.Error(), true); !known {
		s.logger.WarnContext(ctx, "sqllease: connection not used, and what was open on it rolled back", "cause", cause)
	}
}

// logFindings logs each setting of the server that can forget writes, unless the last
// inspection has logged the same finding. If refuse is true, it returns the findings of
// level Error as an error instead of logging them. After such an error it does not remember
// any finding, so that the next call returns the error again. With AllowVolatile it neither
// logs nor returns findings.
func (s *store) logFindings(ctx context.Context, found session, refuse bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range found.findings {
		switch {
		case s.volatile, slices.Contains(s.lastFindings[found.server], f): // accepted, or logged before
		case f.level == slog.LevelError && refuse:
			errs = append(errs, errors.New(f.text+orAccept))
		default:
			s.logger.Log(ctx, f.level, "sqllease: "+f.text, "server", found.server)
		}
	}
	if errs == nil {
		s.lastFindings[found.server] = found.findings
	}
	return errors.Join(errs...)
}
