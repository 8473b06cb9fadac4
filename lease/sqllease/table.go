package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// onTable returns the result of f, which it calls with the table, after it has created and
// checked the table at first use. It returns soon after ctx has ended.
func onTable[T any](ctx context.Context, s *store, f func(tableName) (T, error)) (T, error) {
	return endWithContext(ctx, s, func() (none T, err error) {
		t, err := s.prepare(ctx)
		if err != nil {
			return none, err
		}
		return f(t)
	})
}

// prepare returns the table. The first call creates the table if it does not exist, and
// checks the table and the server's settings, while other calls wait. If the table is
// dropped later, prepare does not create it again, because with an empty table the store
// would lease workers that are in use.
func (s *store) prepare(ctx context.Context) (tableName, error) {
	// A store with a pin already holds a connection. It does not wait at the gate, because
	// the call that has passed the gate may itself be waiting for that connection.
	if s.pin == nil && s.ready.Load() == nil {
		select {
		case s.gate <- struct{}{}:
			defer func() { <-s.gate }()
		case <-ctx.Done():
			return tableName{}, fmt.Errorf("waiting for another call to create and check table %s: %w", s.table.quoted, context.Cause(ctx))
		}
	}
	if ready := s.ready.Load(); ready != nil {
		return *ready, nil
	}
	return s.setUp(ctx)
}

// setUp creates the table if it does not exist, checks it, and keeps it as ready, with the
// schema in which it was found. It returns an error if the table can lose writes, for example
// because it is unlogged, unless AllowVolatile accepts that. The caller holds the gate, or uses
// a store with a pin.
func (s *store) setUp(ctx context.Context) (t tableName, err error) {
	if err := s.ensureTable(ctx); err != nil {
		return t, err
	}
	found, err := s.checkShape(ctx, s.table)
	if err != nil {
		return t, err
	}
	if found.forgets != "" && !s.volatile {
		return t, errors.New(found.forgets + orAccept)
	}
	s.clustered.Store(found.clustered)
	t = s.dialect().qualified(found.schema, s.table.name)
	s.ready.Store(&t)
	return t, nil
}

// ensureTable creates the table if a query fails because the table does not exist. It
// queries first because CREATE TABLE IF NOT EXISTS could create a second table, for
// example in an earlier schema of PostgreSQL's search path. With the option ExistingTable it
// returns [ErrNoTable] instead of creating the table. If CREATE TABLE fails,
// another process may have created the table at the same moment, so ensureTable queries
// again.
func (s *store) ensureTable(ctx context.Context) error {
	probe := fmt.Sprintf(probeSQL, s.table.quoted)
	err := s.exec(ctx, probe)
	if err == nil || s.classify(err) != missing {
		return err
	}
	if s.existing {
		return fmt.Errorf("%w: table %s cannot be read (%w)", ErrNoTable, s.table.quoted, err)
	}
	createErr := s.create(ctx)
	if errors.Is(createErr, errTwoTables) {
		return createErr
	}
	if err = s.exec(ctx, probe); err == nil || createErr == nil {
		return err
	}
	return fmt.Errorf("table %s cannot be read (%w) or created (%w): allow it, or have the table created by the statement that sqllease.DDL(%q) returns",
		s.table.quoted, err, createErr, s.dialect().name)
}

// exec executes the statement over any connection.
func (s *store) exec(ctx context.Context, statement string) error {
	return s.attempt(ctx, func(conn *sql.Conn) error {
		began := time.Now()
		_, err := conn.ExecContext(ctx, statement)
		return asSlowError(ctx, statement, began, err)
	})
}

// errTwoTables is wrapped by the error of a store that would have to create a second table.
var errTwoTables = errors.New("workers would be leased from two tables")

// create creates the table. It returns an error if the session's current schema lacks
// the table and another schema has a table with records, because a pooler or a program
// may have changed the session's schema.
func (s *store) create(ctx context.Context) error {
	// A name with a schema means the same table in every session. On SQLite and TiDB, for which
	// otherTable is nil, the store does not look for another table.
	if s.table.schema != "" || s.dialect().otherTable == nil {
		return s.exec(ctx, s.dialect().create(s.table))
	}
	return s.attempt(ctx, func(conn *sql.Conn) error {
		here, other, err := s.dialect().otherTable(ctx, s.dialect(), conn, s.table.name)
		if err != nil {
			return err
		}
		if other != "" {
			return fmt.Errorf("%w: this session creates %s, and %s has records: want the table with its schema, by WithTable(%q)",
				errTwoTables, s.dialect().qualified(here, s.table.name).quoted, s.dialect().qualified(other, s.table.name).quoted, other+"."+s.table.name)
		}
		// Name the schema, because a pooler may send this statement over another
		// session with another search path.
		_, err = conn.ExecContext(ctx, s.dialect().create(s.dialect().qualified(here, s.table.name)))
		return err
	})
}

// Check implements [lease.Checker]. It reads the shape of the table again, and returns a
// [TableError] if the table can no longer keep a worker to one holder.
func (s *store) Check(ctx context.Context) error {
	_, err := onTable(ctx, s, func(t tableName) (shape, error) { return s.checkShape(ctx, t) })
	return err
}

// checkShape reads the shape of the table, which is its columns, keys and triggers. It
// returns a [TableError] if in such a table two processes could both acquire one worker, for
// example because it has no unique key.
func (s *store) checkShape(ctx context.Context, t tableName) (found shape, err error) {
	err = s.attempt(ctx, func(conn *sql.Conn) (err error) {
		found, err = s.dialect().shape(ctx, conn, t)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("shape of table %s: %w", t.quoted, err)
	}
	return found, s.tableError(s.dialect().flaws(found, t, s.namespace)...)
}

// tableError returns a [TableError] with the flaws, or nil without flaws.
func (s *store) tableError(flaws ...Flaw) error {
	if len(flaws) == 0 {
		return nil
	}
	return &TableError{Table: s.table.quoted, Flaws: flaws}
}
