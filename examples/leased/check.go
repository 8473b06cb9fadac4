package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// counts are what is in the tables, and what must not be there.
type counts struct {
	Orders, Lines int
	Twice         int // keys: the database refuses two in one table, but not one in both
	Orphans       int // lines without their order
	Bare          int // orders without lines
}

func countRows(db *gorm.DB) (counts, error) {
	var c counts
	err := errors.Join(
		db.Raw("SELECT COUNT(*) FROM "+orderTable).Scan(&c.Orders).Error,
		db.Raw("SELECT COUNT(*) FROM "+lineTable).Scan(&c.Lines).Error,
		db.Raw("SELECT COUNT(*) - COUNT(DISTINCT id) FROM (SELECT id FROM "+orderTable+
			" UNION ALL SELECT id FROM "+lineTable+") AS every_id").Scan(&c.Twice).Error,
		db.Raw("SELECT COUNT(*) FROM "+lineTable+" WHERE order_id NOT IN (SELECT id FROM "+orderTable+")").Scan(&c.Orphans).Error,
		db.Raw("SELECT COUNT(*) FROM "+orderTable+" WHERE id NOT IN (SELECT order_id FROM "+lineTable+")").Scan(&c.Bare).Error,
	)
	return c, err
}

// judge counts what has been written, and returns an error if anything is wrong.
func (s *show) judge(ctx context.Context) error {
	c, err := countRows(s.db.WithContext(ctx))
	if err != nil {
		return err
	}
	told := 0
	for _, p := range s.crew {
		told += p.orders
	}
	written := c.Orders - s.before.Orders
	s.print("\nIn the database, of this run: %d orders, %d lines\n", written, c.Lines-s.before.Lines)
	if s.before.Orders > 0 {
		s.print("With those of earlier runs:   %d orders, %d lines\n", c.Orders, c.Lines)
	}
	s.print("  orders that were acknowledged, but are missing  %d\n", max(0, told-written))
	s.print("  keys that exist twice                           %d\n", c.Twice)
	s.print("  lines without their order                       %d\n", c.Orphans)
	s.print("  orders without lines                            %d\n", c.Bare)
	return errors.Join(c.wrong(), missing(told, written), s.idle())
}

func (c counts) wrong() error {
	if c.Twice == 0 && c.Orphans == 0 && c.Bare == 0 {
		return nil
	}
	return fmt.Errorf("%d keys exist twice, %d lines have no order, %d orders have no lines", c.Twice, c.Orphans, c.Bare)
}

func missing(told, written int) error {
	if written >= told { // a process that was killed may not have told of its last ones
		return nil
	}
	return fmt.Errorf("%d orders were acknowledged, %d are there", told, written)
}

// idle is an error if a process that was not killed has written nothing since
// the last scene: the one that was paused should write again.
func (s *show) idle() error {
	var errs []error
	for _, p := range s.crew {
		if p.state != killed && p.orders == p.seen {
			errs = append(errs, fmt.Errorf("process %s has written nothing since the last event", p.name))
		}
	}
	return errors.Join(errs...)
}
