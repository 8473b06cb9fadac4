package gormflake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/gormflake/gormflake/internal/check"
	"github.com/gormflake/gormflake/internal/model"
	"github.com/gormflake/gormflake/internal/parking"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/sqllease"
	"github.com/gormflake/gormflake/snowflake"
)

// Open leases a worker from db itself, creates a generator that issues under it,
// and registers the plugin with db. An application needs no other call.
//
//	gen, err := gormflake.Open(ctx, db)
//	defer gen.Close(context.Background())
//
// The caller closes the generator before the database. Close releases the worker;
// later creates fail. The leases are in the table snowflake_workers, which Open
// creates if it does not exist. See package sqllease for what the database must
// guarantee, and package lease for what happens if the database is down, the
// process is paused or the clock steps. All processes that write to the same
// tables must lease from the same database.
//
// db is the handle that [gorm.Open] returned, not a transaction. ctx is for this
// call only. If Open fails, it holds no worker and leaves db unchanged.
func Open(ctx context.Context, db *gorm.DB, opts ...Option) (*snowflake.Generator, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	layout, err := snowflake.CheckOptions(cfg.snowflake...)
	if err != nil {
		return nil, err
	}
	if err := opened(db); err != nil {
		return nil, fmt.Errorf("gormflake: Open: %w", err)
	}
	keys, err := untaggedKeys(db, cfg.models)
	if err := errors.Join(err, checkLayout(layout, cfg, keys), checkCounters(db.WithContext(ctx), layout, cfg, keys)); err != nil {
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

// opened returns an error if db cannot run a statement, because it is nil or because
// its gorm.Open failed: that returns a handle beside its error.
func opened(db *gorm.DB) error {
	if db == nil || db.Config == nil || db.Dialector == nil || db.Statement == nil {
		return errors.New("db is nil or was not opened: want the handle that gorm.Open returned without an error")
	}
	return nil
}

// use registers p. It explains GORM's error, which is one word.
func use(db *gorm.DB, p *Plugin) error {
	err := db.Use(p)
	if errors.Is(err, gorm.ErrRegistered) {
		return fmt.Errorf("gormflake: db has the plugin already: share its generator, or give Open another handle of gorm.Open: %w", err)
	}
	return err
}

// checkLayout rejects the default layout for listed keys that are numbers in JSON, of
// which JavaScript would round the last digits. The layout of an option is a choice.
func checkLayout(layout snowflake.Layout, cfg *config, keys []*schema.Field) error {
	const exact = 53 // bits of an integer in a JavaScript number
	narrow := snowflake.WithLayout(snowflake.JSSafeLayout())
	unset, _ := snowflake.CheckOptions(append([]snowflake.Option{narrow}, cfg.snowflake...)...) // the last layout counts
	i := slices.IndexFunc(keys, func(f *schema.Field) bool { return !model.IsText(f.FieldType) })
	if i < 0 || layout.TotalBits <= exact || unset == layout {
		return nil
	}
	return fmt.Errorf("gormflake: Open: model %s of WithModels has a key that is a number in JSON, and JavaScript rounds the IDs of the default layout, of %d bits, which cannot be changed later: give Open WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout())); if no JavaScript reads the keys, or the store has this layout already, choose it by snowflake.WithLayout(snowflake.TwitterLayout())",
		keys[i].Schema.Name, layout.TotalBits)
}

// checkCounters rejects counters of listed models that are not parked, before the first
// key.
func checkCounters(db *gorm.DB, layout snowflake.Layout, cfg *config, keys []*schema.Field) error {
	if db.Name() != "mysql" && db.Name() != "sqlite" {
		return nil
	}
	place := parking.NewPlace(layout)
	counters, err := check.Counters(db, place, keys)
	switch {
	case len(counters) == 0:
		return err
	case cfg.unparked:
		db.Logger.Warn(db.Statement.Context, "%v", countersError(counters, layout, place))
		return err
	}
	return errors.Join(countersError(counters, layout, place), err)
}

// countersError explains once what all tables have in common. The command, and then the
// statements, park the counters that can be parked.
func countersError(counters []check.Counter, layout snowflake.Layout, place parking.Place) error {
	var tables, park, fixed, statements []string
	for _, c := range counters {
		tables = append(tables, fmt.Sprintf("%s (at %d)", c.Table, c.Next))
		if len(c.Park) == 0 {
			fixed = append(fixed, c.Table)
			continue
		}
		park = append(park, "'"+strings.ReplaceAll(c.Table, "'", `'\''`)+"'")
		statements = append(statements, c.Park...)
	}
	text := fmt.Sprintf("gormflake: Open: the database still assigns keys (auto-increment) in %s: such a counter %s.", strings.Join(tables, ", "), check.FollowsText)
	if len(fixed) > 0 {
		text += " Move with package sqlmigrate, since no statement parks it: " + strings.Join(fixed, ", ") + "."
	}
	if len(park) > 0 {
		flag := map[snowflake.Layout]string{snowflake.JSSafeLayout(): "--layout js-safe ", snowflake.TwitterLayout(): ""}[layout]
		text += fmt.Sprintf(" Park above all IDs until %d: gormflake migrate apply --park %s--dsn URL %s, or the statements below.", place.Until.Year(), flag, strings.Join(park, " "))
	}
	text += " If no program inserts into these tables without the plugin, WithUnparkedCounters makes this a warning"
	return errors.New(strings.Join(append([]string{text}, statements...), "\n"))
}
