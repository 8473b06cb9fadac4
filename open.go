package gormflake

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// Open leases a worker from db itself, creates a generator that issues under it, and
// registers the plugin with db. An application needs no other call.
//
//	gen, err := gormflake.Open(ctx, db)
//	defer gen.Close(context.Background())
//
// The caller closes the generator before the database. Close releases the worker, and
// creates fail after it. The leases are in the table snowflake_workers, which Open
// creates if it does not exist. Package sqllease describes the guarantees that the
// database must give. Package lease describes how a lease behaves if the database is
// down, the process is paused or the clock steps. All processes that write to the same
// tables must lease from the same database.
//
// db is the handle that [gorm.Open] returned, not a transaction. Open uses ctx only until
// it returns. If Open fails, it holds no worker and leaves db unchanged.
func Open(ctx context.Context, db *gorm.DB, opts ...Option) (*snowflake.Generator, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	layout, err := snowflake.CheckOptions(cfg.snowflake...)
	if err != nil {
		return nil, err
	}
	if err := checkOpened(db); err != nil {
		return nil, fmt.Errorf("gormflake: Open: %w", err)
	}
	// Find the mistakes of WithModels before a worker is leased.
	if err := checkModels(db.WithContext(ctx), layout, cfg); err != nil {
		return nil, err
	}
	l, err := lease.Acquire(ctx, sqllease.New(db, cfg.store...), layout, cfg.lease...)
	if err != nil {
		return nil, err
	}
	// After an error, Open releases the worker even if ctx has ended.
	gen, err := snowflake.New(l, cfg.snowflake...)
	if err != nil {
		return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx)))
	}
	if err := use(db, newPlugin(gen, cfg)); err != nil {
		return nil, errors.Join(err, gen.Close(context.WithoutCancel(ctx))) // Close releases the worker
	}
	return gen, nil
}

// use registers p with db. If a plugin of this package is already registered, it returns
// GORM's error together with an explanation.
func use(db *gorm.DB, p *Plugin) error {
	err := db.Use(p)
	if errors.Is(err, gorm.ErrRegistered) {
		return fmt.Errorf("gormflake: db has the plugin already: share its generator, or give Open another handle of gorm.Open: %w", err)
	}
	return err
}
