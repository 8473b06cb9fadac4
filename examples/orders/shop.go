package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/snowflake"
)

// shop is a database that is ready for orders, and what makes their keys.
type shop struct {
	db      *gorm.DB
	gen     *snowflake.Generator
	release func() error
}

// openShop opens the database that cfg names. The caller closes the shop.
func openShop(ctx context.Context, cfg config) (*shop, error) {
	open := connect
	if cfg.dsn == "" {
		open = connectTemporary
	}
	db, release, err := open(cfg.dsn)
	if err != nil {
		return nil, err
	}
	s := &shop{db: db, release: release}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// prepare is all the setting up that gormflake takes: Open, which leases a worker
// number from the database itself, and a check of the models.
func (s *shop) prepare(ctx context.Context) (err error) {
	s.gen, err = gormflake.Open(ctx, s.db)
	if err != nil {
		return err
	}
	db := s.db.WithContext(ctx)
	if err := db.AutoMigrate(&Order{}, &Line{}, &AutoOrder{}, &AutoLine{}); err != nil {
		return fmt.Errorf("create tables: %w", err)
	}
	return gormflake.Check(db, &Order{}, &Line{})
}

func (s *shop) close() error {
	var err error
	if s.gen != nil {
		err = s.gen.Close(context.Background())
	}
	return errors.Join(err, s.release())
}

func connect(address string) (db *gorm.DB, release func() error, err error) {
	dialector, err := dsn.Open(address)
	if err != nil {
		return nil, nil, err
	}
	db, err = gorm.Open(dialector, &gorm.Config{
		Logger: logger.Discard,
		// Checking foreign keys costs every way the same and would hide, in
		// PostgreSQL above all, what differs between them.
		DisableForeignKeyConstraintWhenMigrating: true,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	return db, pool.Close, nil
}

// connectTemporary makes a SQLite file of its own; release removes it.
func connectTemporary(string) (db *gorm.DB, release func() error, err error) {
	dir, err := os.MkdirTemp("", "orders-example-")
	if err != nil {
		return nil, nil, err
	}
	db, closePool, err := connect("sqlite://" + url.PathEscape(filepath.Join(dir, "orders.db")))
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return db, func() error { return errors.Join(closePool(), os.RemoveAll(dir)) }, nil
}
