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

// Open leases a worker from db itself, makes a generator that issues under it,
// and registers the plugin with db: all that an application needs.
//
//	gen, err := gormflake.Open(ctx, db)
//	defer gen.Close(context.Background())
//
// The caller closes the generator, before the database: that gives the worker
// back, and creates fail from then on. The workers are kept in the table
// snowflake_workers, which is created if it is absent; see package sqllease for
// what the database must promise, and package lease for what happens when it is
// down, when the process is paused, or when the clock steps. All processes that
// write to the same tables must lease from the same database.
//
// db is the handle that [gorm.Open] returned, not a transaction. ctx is for
// this call only. After an error nothing is held, and db is as it was.
func Open(ctx context.Context, db *gorm.DB, opts ...Option) (*snowflake.Generator, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	layout, err := snowflake.LayoutOf(cfg.snowflake...)
	if err != nil {
		return nil, err
	}
	l, err := lease.Acquire(ctx, sqllease.New(db, cfg.store...), layout, cfg.lease...)
	if err != nil {
		return nil, err
	}
	gen, err := snowflake.New(l, cfg.snowflake...)
	if err != nil {
		return nil, errors.Join(err, l.Release(context.WithoutCancel(ctx)))
	}
	if err := use(db, newPlugin(gen, cfg)); err != nil {
		return nil, errors.Join(err, gen.Close(context.WithoutCancel(ctx)))
	}
	return gen, nil
}

// use says what GORM's error, which is one word, does not.
func use(db *gorm.DB, p *Plugin) error {
	err := db.Use(p)
	if errors.Is(err, gorm.ErrRegistered) {
		return fmt.Errorf("gormflake: db has the plugin already: share its generator, or give Open another handle of gorm.Open: %w", err)
	}
	return err
}
